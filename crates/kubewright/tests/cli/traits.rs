//! Cases about traits.

use super::check;

#[test]
fn cases_about_traits_hold_or_tell_why_not() {
    check("trait-cases", "test trait-cases/failing --coverage");
    check("trait-cases-json", "test trait-cases/failing -o json");
    check("trait-cases-junit", "test trait-cases/failing -o junit");
}

#[test]
fn cases_about_components_hold_or_tell_why_not() {
    check("trait-cases-components", "test trait-cases/components");
}

#[test]
fn mistakes_in_cases_about_traits_are_told_with_their_place() {
    check("trait-cases-bad", "test trait-cases/bad");
}
