//! "Did you mean": the known name that is nearest to a misspelt one.

/// Returns the known name that is nearly `name`.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let most = name.chars().count() / 3;
    let distances = known.map(|other| (distance(name, other, most), other));
    distances.filter(|(distance, _)| *distance <= most).min().map(|(_, other)| other)
}

/// Returns how many letters differ; more than `most` when they are too many.
fn distance(a: &str, b: &str, most: usize) -> usize {
    if a.len().abs_diff(b.len()) > most * 4 || a.len() > 64 || b.len() > 64 {
        return most + 1;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (other, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let above = *cell;
            left = (diagonal + usize::from(letter != *other)).min(above + 1).min(left + 1);
            diagonal = above;
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
