use super::*;

#[track_caller]
fn check_all(text: &str, want: &[(&str, &[u8])]) {
    let blocks = all_blocks(text).unwrap();
    let found: Vec<_> = blocks.iter().map(|block| (block.label, block.bytes.as_slice())).collect();
    assert_eq!(found, want);
}

#[test]
fn all_blocks_need_no_lines() {
    check_all("-----BEGIN A-----\nYWI=\n-----END A-----", &[("A", b"ab")]);
    check_all(
        "-----BEGIN A----- YW I= -----END A-----x-----BEGIN B-----YQ==-----END B-----",
        &[("A", b"ab"), ("B", b"a")],
    );
    check_all("no key", &[]);
}

#[test]
fn all_blocks_says_what_is_wrong() {
    let error = |text: &str| all_blocks(text).unwrap_err();
    assert_eq!(error("-----BEGIN A"), "a PEM block has no label");
    assert_eq!(error("-----BEGIN A-----\nYWI="), "`A` has no `-----END A-----` behind it");
    assert_eq!(error("-----BEGIN A-----\nProc-Type: 4\n-----END A-----"), "`A` is encrypted");
    assert_eq!(error("-----BEGIN A-----\n!\n-----END A-----"), "`A` is not Base64");
}

#[test]
fn first_block_reads_lines_as_go_does() {
    let label = |text| first_block(text).map(|block| block.label);
    assert_eq!(label("x\n-----BEGIN A-----\nYWI=\n-----END A-----\n"), Some("A"));
    assert_eq!(label("-----BEGIN A-----\nkey: value\n\nYWI=\n-----END A-----\n"), Some("A"));
    assert_eq!(label("x-----BEGIN A-----\nYWI=\n-----END A-----\n"), None);
    assert_eq!(label("-----BEGIN A-----\nYWI=\n-----END B-----\n"), None);
}
