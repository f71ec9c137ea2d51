use super::*;

fn numbered(count: i64) -> Map {
    (0..count).map(|i| (Text::from(format!("k{i}")), Value::from(i))).collect()
}

#[test]
fn order_survives_growth_replacement_and_removal() {
    for count in [3, 24, 25, 100] {
        let mut map = numbered(count);
        map.insert("k1".into(), Value::Null);
        map.remove("k0");
        map.insert("new".into(), Value::Null);
        let want: Vec<String> = (1..count).map(|i| format!("k{i}")).chain(["new".to_owned()]).collect();
        assert_eq!(map.keys().map(|k| k.to_string()).collect::<Vec<_>>(), want);
        for (i, key) in want.iter().enumerate() {
            assert_eq!(map.position(key), Some(i), "{key} of {count}");
        }
    }
}

#[test]
fn shrinking_drops_the_index_and_lookups_still_work() {
    let mut map = numbered(26);
    map.remove("k3");
    map.remove("k4");
    assert_eq!(map.get("k25"), Some(&Value::from(25_i64)));
    assert_eq!(map.get("k3"), None);
}

#[test]
fn keys_are_found_however_they_came_into_the_map() {
    let keys = ["", "a", "kind", "kinds", "metadata", "ä", "k"];
    let entries = || keys.map(|key| (Text::from(key), Value::Null));
    let mut inserted = Map::with_capacity(2);
    for (place, (key, value)) in entries().into_iter().enumerate() {
        inserted.insert_at(place / 2, key, value);
    }
    let mut read = Map::new();
    for key in keys {
        assert!(read.slot(key).is_ok() && read.slot(key).is_err(), "{key}");
    }
    inserted.remove("kind");
    inserted.insert("kind".into(), Value::Null);
    for map in [Map::of_entries(entries().into()), entries().into_iter().collect(), inserted, read] {
        keys.iter().for_each(|key| assert!(map.contains_key(key), "{key}"));
        ["b", "kine", "metadatb"].iter().for_each(|key| assert!(!map.contains_key(key), "{key}"));
    }
}

#[test]
fn an_entry_can_be_put_in_a_given_place() {
    let mut map = numbered(2);
    map.insert_at(1, "between".into(), Value::Null);
    assert_eq!(map.keys().map(|k| k.as_str()).collect::<Vec<_>>(), ["k0", "between", "k1"]);
}
