//! Finds the route of a path, and decodes what the path and the query say.

use crate::api::{PageMethod, PageRoute};

/// What was found for a method and a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RouteMatch {
    /// The route, and what the path has in place of its parameters.
    Route(PageRoute, Vec<String>),
    /// The path is answered, but not for this method.
    OtherMethod,
    /// The path is not answered.
    Missing,
}

/// Returns the first of `routes` that fits.
pub(crate) fn find_route(routes: &[PageRoute], method: PageMethod, path: &str) -> RouteMatch {
    let mut is_known = false;
    for route in routes {
        let Some(parameters) = path_parameters(route.path, path) else { continue };
        if route.method == method {
            return RouteMatch::Route(*route, parameters);
        }
        is_known = true;
    }
    if is_known { RouteMatch::OtherMethod } else { RouteMatch::Missing }
}

/// Returns what `path` has in place of the parameters of `pattern`; nothing if it does not fit.
fn path_parameters(pattern: &str, path: &str) -> Option<Vec<String>> {
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    let mut parameters = Vec::new();
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(parameters),
            (Some(wanted), Some(given)) if wanted.starts_with('{') => {
                parameters.push(decode(given, false).filter(|text| !text.is_empty())?);
            }
            (Some(wanted), Some(given)) if wanted == given => {}
            _ => return None,
        }
    }
}

/// Returns the names and values of a query; those that cannot be decoded are left out.
pub(crate) fn read_query(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let decoded = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decode(name, true)?, decode(value, true)?))
    });
    decoded.flatten().collect()
}

/// Returns `text` without percent-encoding; nothing if it is not UTF-8 then.
fn decode(text: &str, has_plus: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?.to_owned();
                u8::from_str_radix(&digits, 16).ok().filter(|_| !digits.starts_with('+'))?
            }
            b'+' if has_plus => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{RouteMatch, find_route, read_query};
    use crate::api::{PageMethod, PageRoute};

    const ROUTES: [PageRoute; 3] = [
        PageRoute { method: PageMethod::Get, path: "/examples" },
        PageRoute { method: PageMethod::Get, path: "/examples/{language}/{name}" },
        PageRoute { method: PageMethod::Post, path: "/try" },
    ];

    #[track_caller]
    fn check(method: PageMethod, path: &str, want: Option<&[&str]>) {
        match find_route(&ROUTES, method, path) {
            RouteMatch::Route(_, parameters) => assert_eq!(
                Some(parameters.as_slice()),
                want.map(|want| want.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>()).as_deref(),
                "{path}"
            ),
            _ => assert_eq!(None, want, "{path}"),
        }
    }

    #[test]
    fn paths_are_matched_part_by_part() {
        check(PageMethod::Get, "/examples", Some(&[]));
        check(PageMethod::Get, "/examples/kyverno/a%20b", Some(&["kyverno", "a b"]));
        check(PageMethod::Get, "/examples/kyverno", None);
        check(PageMethod::Get, "/examples/kyverno/", None);
        check(PageMethod::Get, "/examples/kyverno/%zz", None);
        check(PageMethod::Get, "/examples/kyverno/%+1", None);
        check(PageMethod::Get, "/examples/a/b/c", None);
        assert_eq!(find_route(&ROUTES, PageMethod::Get, "/try"), RouteMatch::OtherMethod);
        assert_eq!(find_route(&ROUTES, PageMethod::Get, "/nothing"), RouteMatch::Missing);
    }

    #[test]
    fn a_query_is_decoded() {
        let want =
            [("a", "b c"), ("d", "é"), ("e", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read_query("a=b+c&d=%C3%A9&e&bad=%C3"), want);
    }
}
