use super::*;

#[track_caller]
fn check(parts: &[&str], most: usize, want: &str) {
    assert_eq!(hashed_name(parts, "", most).as_deref(), Some(want));
}

#[test]
fn parts_are_cleaned_joined_and_end_in_the_hash_of_what_was_given() {
    check(&["project", "component"], MAX_SUBDOMAIN_CHARS, "project-component-932d1646");
    check(&["My_Project$", "Component@Name"], MAX_SUBDOMAIN_CHARS, "my-project-component-name-40314333");
    check(&["-invalid-start", "invalid-end-"], MAX_SUBDOMAIN_CHARS, "invalid-start-invalid-end-f124257d");
}

#[test]
fn parts_without_any_letter_leave_only_the_hash() {
    check(&["", ""], MAX_SUBDOMAIN_CHARS, "3973e022");
    check(&["!!!", "###"], MAX_SUBDOMAIN_CHARS, "606b424e");
}

#[test]
fn no_part_makes_no_name() {
    assert_eq!(hashed_name::<&str>(&[], "", MAX_LABEL_CHARS), None);
}

#[test]
fn dots_stay_inside_of_a_part() {
    check(&[".a.b.c."], MAX_SUBDOMAIN_CHARS, &format!("a.b.c-{}", &sha256_hex(".a.b.c.")[..8]));
    check(&["a.b.c"], MAX_LABEL_CHARS, "a.b.c-845e3044");
}

#[test]
fn letters_that_no_name_may_have_become_dashes() {
    check(&["é b"], MAX_SUBDOMAIN_CHARS, "b-5eefa2a2");
    check(&["aéb"], MAX_LABEL_CHARS, &format!("a-b-{}", &sha256_hex("aéb")[..8]));
}

#[test]
fn room_is_shared_evenly_and_the_first_parts_get_what_is_over() {
    let name =
        hashed_name(&["a".repeat(100), "b".repeat(100), "c".repeat(100)], "", MAX_LABEL_CHARS).unwrap();
    let lengths: Vec<usize> = name.split('-').map(str::len).collect();
    assert_eq!((lengths, name.len()), (vec![18, 17, 17, 8], 63));
}

#[test]
fn more_parts_than_there_is_room_for_leave_only_the_hash() {
    assert_eq!(hashed_name(&["a"; 100], "", MAX_LABEL_CHARS).map(|name| name.len()), Some(8));
}

#[test]
fn what_is_extra_changes_the_hash_only() {
    let (plain, extra) =
        (hashed_name(&["a"], "", MAX_LABEL_CHARS), hashed_name(&["a"], "x", MAX_LABEL_CHARS));
    assert_ne!(plain, extra);
    assert_eq!(extra, Some(format!("a-{}", &sha256_hex("a-x")[..8])));
}

#[test]
fn short_hashes_are_those_of_fnv() {
    assert_eq!(fnv1a("test"), "afd071e5");
    assert_eq!(fnv1a(""), "811c9dc5");
    assert_eq!(fnv1a("é"), "1e9de8c1");
}
