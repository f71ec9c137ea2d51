//! Acting as another user: the `as` of a kubeconfig.

use std::fmt::Write as _;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

use crate::Error;

/// Whom the client acts as; the API server allows it by the verb `impersonate`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Impersonation {
    /// The name of the user; empty where the client acts as itself.
    pub user: String,
    /// The UID of the user; may be empty.
    pub uid: String,
    /// The groups of the user.
    pub groups: Vec<String>,
    /// Further attributes of the user, a value at a time.
    pub extra: Vec<(String, String)>,
}

impl Impersonation {
    /// Returns the headers of each request.
    pub(crate) fn headers(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        if self.user.is_empty() {
            return Ok(headers);
        }
        let mut add = |name: &str, value: &str| {
            let wrong = || Error::Config(format!("`{value}` cannot be sent as {name}"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).map_err(|_| wrong())?);
            Ok::<_, Error>(())
        };
        add("impersonate-user", &self.user)?;
        if !self.uid.is_empty() {
            add("impersonate-uid", &self.uid)?;
        }
        for group in &self.groups {
            add("impersonate-group", group)?;
        }
        for (key, value) in &self.extra {
            add(&format!("impersonate-extra-{}", header_key(key)), value)?;
        }
        Ok(headers)
    }
}

/// Encodes what a header name cannot have, such as the slash of `example.com/team`, as client-go does.
fn header_key(key: &str) -> String {
    let mut encoded = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::Impersonation;

    #[test]
    fn a_user_is_written_as_headers() {
        let impersonation = Impersonation {
            user: "ann".to_owned(),
            uid: "7".to_owned(),
            groups: vec!["dev".to_owned(), "ops".to_owned()],
            extra: vec![("example.com/team".to_owned(), "a".to_owned())],
        };
        let headers = impersonation.headers().unwrap();
        let all = |name: &str| {
            headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(all("impersonate-user"), ["ann"]);
        assert_eq!(all("impersonate-uid"), ["7"]);
        assert_eq!(all("impersonate-group"), ["dev", "ops"]);
        assert_eq!(all("impersonate-extra-example.com%2fteam"), ["a"]);
        assert!(Impersonation::default().headers().unwrap().is_empty());
        let wrong = Impersonation { user: "a\nb".to_owned(), ..Impersonation::default() };
        assert!(wrong.headers().is_err());
    }
}
