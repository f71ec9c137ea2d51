//! Paths of the API server, parsed once, so that what is checked is what is sent.

use std::fmt;

use kubewright_value::Text;

/// The parts of a path of the API server. A text that a rule computed becomes one only through [`ApiPath::parse`],
/// which refuses everything that could be read in two ways.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiPath {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The version; empty for a path that is not of a resource, such as `/version`, which is then in `resource`.
    pub version: Text,
    /// The namespace; empty for all of them, or for a resource without one.
    pub namespace: Text,
    /// The resource, in lower case and plural: `deployments`.
    pub resource: Text,
    /// The name of one object; empty for a list.
    pub name: Text,
    /// A part of the object, such as `status`; mostly empty.
    pub subresource: Text,
    /// The query parameters, decoded, in the order in which they were written.
    pub query: Vec<(Text, Text)>,
}

/// The longest path that is parsed or sent.
const MAX_PATH_BYTES: usize = 8 << 10;

/// Subresources that do not read an object: they connect to a process in the cluster with the caller's permissions.
const CONNECT_SUBRESOURCES: [&str; 4] = ["proxy", "exec", "attach", "portforward"];

/// Prefixes of a resource in deprecated paths, which turn a read into another request.
const LEGACY_VERBS: [&str; 3] = ["watch", "proxy", "redirect"];

/// Query parameters that turn the response into a stream that does not end.
const STREAMING_PARAMETERS: [&str; 2] = ["watch", "follow"];

impl ApiPath {
    /// Parses a path that a rule computed.
    ///
    /// # Errors
    /// When any part of it could be read in two ways.
    pub fn parse(text: &str) -> Result<Self, String> {
        check_length(text.len())?;
        let refused = |why: &str| format!("the address `{}` {why}", text.escape_debug());
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let Some(path) = path.strip_prefix('/') else {
            return Err(refused("does not start with `/`"));
        };
        let parts: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
        if let Some(part) = parts.iter().find(|part| !is_path_part(part)) {
            return Err(refused(&format!("has the part `{}`, which is not a name", part.escape_debug())));
        }
        let mut address = read_path_parts(&parts).map_err(|why| refused(&why))?;
        address.query = read_query(query).map_err(|why| refused(&format!("has a query in which {why}")))?;
        // A character of the query may be sent as three.
        check_length(address.to_string().len())?;
        Ok(address)
    }

    /// Returns whether it is a path of objects, and not of the server itself, such as `/version`.
    #[must_use]
    pub fn is_resource(&self) -> bool {
        !self.version.is_empty()
    }
}

/// Refuses an address of more than the longest path.
fn check_length(bytes: usize) -> Result<(), String> {
    if bytes > MAX_PATH_BYTES { Err(format!("an address of {bytes} bytes is too long")) } else { Ok(()) }
}

/// Reads the parts between the slashes, as the API server does.
fn read_path_parts(parts: &[&str]) -> Result<ApiPath, String> {
    let mut address = ApiPath::default();
    let rest = match parts {
        ["api", version, rest @ ..] if !rest.is_empty() => {
            address.version = (*version).into();
            rest
        }
        ["apis", group, version, rest @ ..] if !rest.is_empty() => {
            (address.group, address.version) = ((*group).into(), (*version).into());
            rest
        }
        ["api" | "apis", ..] => return Err("does not name a resource".to_owned()),
        [one] => {
            address.resource = (*one).into();
            return Ok(address);
        }
        _ => return Err("is not a resource".to_owned()),
    };
    let rest = match rest {
        // These two are subresources of a namespace, and not resources in it.
        ["namespaces", _, "status" | "finalize", ..] => rest,
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => {
            address.namespace = (*namespace).into();
            rest
        }
        rest => rest,
    };
    let (resource, name, subresource) = match rest {
        [resource] => (*resource, "", ""),
        [resource, name] => (*resource, *name, ""),
        [resource, name, subresource] => (*resource, *name, *subresource),
        _ => return Err("has too many parts".to_owned()),
    };
    let words = [&address.version, &address.namespace, &resource.into(), &subresource.into()];
    if let Some(word) = words.into_iter().find(|word| !is_dns_label(word)) {
        return Err(format!("has `{word}` where only lower-case letters, digits and `-` are allowed"));
    }
    if !address.group.bytes().all(|byte| is_dns_byte(byte) || byte == b'.') {
        return Err(format!("has the group `{}`, which is not an API group", address.group));
    }
    if LEGACY_VERBS.contains(&resource) || (!address.namespace.is_empty() && resource == "namespaces") {
        return Err(format!("has `{resource}` in the place of a resource"));
    }
    if CONNECT_SUBRESOURCES.contains(&subresource) {
        return Err(format!("connects to something: `{subresource}`"));
    }
    (address.resource, address.name, address.subresource) =
        (resource.into(), name.into(), subresource.into());
    Ok(address)
}

/// As it is sent to the API server.
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
            let mut before = b'=';
            for byte in value.bytes() {
                match byte {
                    b'.' if before == b'.' => f.write_str("%2E")?,
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                        write!(f, "{}", char::from(byte))?;
                    }
                    other => write!(f, "%{other:02X}")?,
                }
                before = byte;
            }
        }
        Ok(())
    }
}

/// Returns whether a part can be a name. No name has a character of an encoding or a separator, or a `..`.
fn is_path_part(part: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    part.len() <= 253 && part.bytes().all(is_letter) && !matches!(part, "" | ".") && !part.contains("..")
}

/// Returns whether a part is empty, or can be the name of a namespace, a resource or a version.
fn is_dns_label(part: &str) -> bool {
    part.len() <= 63 && part.bytes().all(is_dns_byte)
}

fn is_dns_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

fn read_query(text: &str) -> Result<Vec<(Text, Text)>, String> {
    let mut pairs = Vec::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(format!("`{}` is not a name", key.escape_debug()));
        }
        if STREAMING_PARAMETERS.contains(&key) {
            return Err(format!("`{key}` asks for a response that does not end"));
        }
        pairs.push((key.into(), percent_decoded(value)?.into()));
    }
    Ok(pairs)
}

fn percent_decoded(text: &str) -> Result<String, String> {
    let wrong = || format!("`{}` is not percent-encoded", text.escape_debug());
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
