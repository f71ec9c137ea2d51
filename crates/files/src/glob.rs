//! File patterns: `*` and `?` within a name, `**` for any number of folders.

/// Returns whether `text` is a pattern and not a plain path.
pub(crate) fn is_pattern(text: &str) -> bool {
    memchr::memchr2(b'*', b'?', text.as_bytes()).is_some()
}

/// Splits a pattern into the folder before its first wildcard and the segments after it.
pub(crate) fn split_glob(pattern: &str) -> (&str, Vec<&str>) {
    let wild = pattern.find(['*', '?']).unwrap_or(pattern.len());
    let cut = pattern.get(..wild).and_then(|plain| plain.rfind('/')).map_or(0, |slash| slash + 1);
    let (folder, rest) = pattern.split_at(cut);
    let folder = if folder.is_empty() { "." } else { folder };
    (folder, rest.split('/').filter(|segment| !segment.is_empty()).collect())
}

/// Returns whether the path made of `names` fits `segments`.
pub(crate) fn glob_matches(segments: &[&str], names: &[&str]) -> bool {
    // Row by row, as for text: what is left of the names after each segment.
    let mut reachable = vec![false; names.len() + 1];
    if let Some(first) = reachable.first_mut() {
        *first = true;
    }
    for segment in segments {
        let mut next = vec![false; names.len() + 1];
        for (at, _) in reachable.iter().enumerate().filter(|(_, is)| **is) {
            if *segment == "**" {
                next.iter_mut().skip(at).for_each(|place| *place = true);
            } else if names.get(at).is_some_and(|name| name_matches(segment, name))
                && let Some(place) = next.get_mut(at + 1)
            {
                *place = true;
            }
        }
        reachable = next;
    }
    reachable.last().copied().unwrap_or(false)
}

/// Returns whether one name fits one segment.
fn name_matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to go back to: the star last seen, and how much of the name it holds.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || name.get(n) == Some(c) => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((place, held)) = star else { return false };
                star = Some((place, held + 1));
                p = place + 1;
                n = held + 1;
            }
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, want: bool) {
        let segments: Vec<_> = pattern.split('/').collect();
        let names: Vec<_> = path.split('/').collect();
        assert_eq!(glob_matches(&segments, &names), want, "{pattern} on {path}");
    }

    #[test]
    fn a_star_stays_within_a_name_and_two_stars_cross_folders() {
        check("*.yaml", "web.yaml", true);
        check("*.yaml", "shop/web.yaml", false);
        check("**/*.yaml", "web.yaml", true);
        check("**/*.yaml", "a/b/web.yaml", true);
        check("a/**", "a/b/web.yaml", true);
        check("a/**/web.yaml", "b/web.yaml", false);
        check("w?b.y*ml", "web.yaml", true);
        check("w?b.y*ml", "wb.yaml", false);
        check("*a*b*", "xxaxxbxx", true);
    }

    #[test]
    fn the_folder_before_the_first_wildcard_is_where_to_look() {
        assert_eq!(split_glob("rules/*/x.yaml"), ("rules/", vec!["*", "x.yaml"]));
        assert_eq!(split_glob("*.yaml"), (".", vec!["*.yaml"]));
        assert_eq!(split_glob("/abs/w*b"), ("/abs/", vec!["w*b"]));
    }
}
