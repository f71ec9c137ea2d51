//! An address on the API server, read once: what is checked is what is sent.

use std::fmt;

use kubewright_value::Text;

/// The parts of an address on the API server. Made by [`ApiPath::parse`] alone from a text that a rule made, so
/// that nothing in it can be read in two ways.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiPath {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The version; empty for an address that is no resource, such as `/version`, which is then in `resource`.
    pub version: Text,
    /// The namespace; empty for all of them, or for a resource without one.
    pub namespace: Text,
    /// The resource, in lower case and plural: `deployments`.
    pub resource: Text,
    /// The name of one object; empty for a list.
    pub name: Text,
    /// A part of the object, such as `status`; mostly empty.
    pub subresource: Text,
    /// What stands behind the question mark, decoded, in the order in which it was written.
    pub query: Vec<(Text, Text)>,
}

impl ApiPath {
    /// Reads the address that a rule made.
    ///
    /// # Errors
    /// When any part of it could be taken for something else than it is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let refused = |why: &str| Err(format!("the address `{text}` {why}"));
        let Some(path) = path.strip_prefix('/') else {
            return refused("does not start with `/`");
        };
        let parts: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
        if let Some(part) = parts.iter().find(|part| !is_plain(part)) {
            return refused(&format!("has the part `{part}`, which is no name"));
        }
        let mut address = Self { query: read_query(query)?, ..Self::default() };
        let rest = match parts.as_slice() {
            ["api", version, rest @ ..] if !rest.is_empty() => {
                address.version = (*version).into();
                rest
            }
            ["apis", group, version, rest @ ..] if !rest.is_empty() => {
                (address.group, address.version) = ((*group).into(), (*version).into());
                rest
            }
            ["api" | "apis", ..] => return refused("names no resource"),
            [one] => {
                address.resource = (*one).into();
                return Ok(address);
            }
            _ => return refused("is no resource"),
        };
        let rest = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => {
                address.namespace = (*namespace).into();
                rest
            }
            rest => rest,
        };
        match rest {
            [resource] => address.resource = (*resource).into(),
            [resource, name] => (address.resource, address.name) = ((*resource).into(), (*name).into()),
            [resource, name, subresource] => {
                (address.resource, address.name) = ((*resource).into(), (*name).into());
                address.subresource = (*subresource).into();
            }
            _ => return refused("has too many parts"),
        }
        Ok(address)
    }
}

/// As it is sent.
impl fmt::Display for ApiPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.group.as_str(), self.version.as_str()) {
            ("", "") => {}
            ("", version) => write!(f, "/api/{version}")?,
            (group, version) => write!(f, "/apis/{group}/{version}")?,
        }
        if !self.namespace.is_empty() {
            write!(f, "/namespaces/{}", self.namespace)?;
        }
        for part in
            [&self.resource, &self.name, &self.subresource].into_iter().filter(|part| !part.is_empty())
        {
            write!(f, "/{part}")?;
        }
        for (number, (key, value)) in self.query.iter().enumerate() {
            write!(f, "{}{key}=", if number == 0 { '?' } else { '&' })?;
            for byte in value.bytes() {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                        write!(f, "{}", char::from(byte))?;
                    }
                    other => write!(f, "%{other:02X}")?,
                }
            }
        }
        Ok(())
    }
}

fn is_plain(part: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    !matches!(part, "" | "." | "..") && part.len() <= 253 && part.bytes().all(is_letter)
}

fn read_query(text: &str) -> Result<Vec<(Text, Text)>, String> {
    let mut pairs = Vec::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(format!("`{key}` is no name of a query"));
        }
        pairs.push((key.into(), decoded(value)?.into()));
    }
    Ok(pairs)
}

fn decoded(text: &str) -> Result<String, String> {
    let wrong = || format!("`{text}` is not encoded as addresses are");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = digit().zip(digit()).ok_or_else(wrong)?;
                u8::try_from(high * 16 + low).map_err(|_| wrong())?
            }
            b'#' | 0..=0x20 | 0x7f => return Err(wrong()),
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests;
