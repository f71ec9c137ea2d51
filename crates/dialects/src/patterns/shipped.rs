//! The patterns that ship: each a folder `patterns/<name>` with `pattern.yaml` and its page `README.md`.

/// A pattern that ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name, which is that of its folder.
    pub name: &'static str,
    /// The pattern as it is written.
    pub source: &'static str,
    /// What it finds, why that matters and what to do, in Markdown.
    pub page: &'static str,
}

/// Returns the patterns that ship, sorted by name.
#[must_use]
pub fn shipped() -> &'static [Shipped] {
    SHIPPED
}

/// Returns the pattern of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}

/// One entry for each folder of `patterns/`.
macro_rules! folders {
    ($($name:literal)*) => {
        &[$(Shipped {
            name: $name,
            source: include_str!(concat!("../../../../patterns/", $name, "/pattern.yaml")),
            page: include_str!(concat!("../../../../patterns/", $name, "/README.md")),
        }),*]
    };
}

static SHIPPED: &[Shipped] = folders! {
    "orphan-service"
};

#[cfg(test)]
mod tests;
