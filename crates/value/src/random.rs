//! Texts made at random from pieces, for tests of readers. The same pieces give the same texts every time.

/// Returns many texts of fewer than `longest` of `pieces` each.
pub(crate) fn random_texts(pieces: &[&str], longest: usize) -> impl Iterator<Item = String> {
    let mut state = 1_u64;
    let mut below = move |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % end
    };
    (0..20_000).map(move |_| (0..below(longest)).map(|_| pieces[below(pieces.len())]).collect())
}
