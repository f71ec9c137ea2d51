//! URLs.

use std::any::Any;
use std::fmt;

use kubewright_golib::url;

use super::{Library, opaque, text};
use crate::cost::traversal;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Functions, Overload};
use crate::standard::size_of;
use crate::val::{Entries, Kind, MapVal, Opaque, Val};

/// The library of URLs.
pub const URLS: Library = Library { name: "urls", functions: add, macros: Macros::NONE, types: &[] };

const NAME: &str = "kubernetes.URL";
const URL: &[Kind] = &[Kind::Opaque(NAME)];

struct Url(url::GoUrl);

impl Opaque for Url {
    fn type_name(&self) -> &'static str {
        NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: Option<&Self> = other.as_any().downcast_ref();
        other.is_some_and(|other| url::join_url(&self.0) == url::join_url(&other.0))
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "url({:?})", url::join_url(&self.0))
    }
}

fn add(functions: &mut Functions) {
    functions.add(
        Overload::function("url", &[Kind::String], Kind::Opaque(NAME), |arguments, _| {
            Ok(Val::opaque(parse(text(arguments, 0)?)?))
        })
        .cost(|arguments, _| traversal(size_of(arguments, 0)))
        .help("the URL that a text is"),
    );
    functions.add(
        Overload::function("isURL", &[Kind::String], Kind::Bool, |arguments, _| {
            Ok(Val::Bool(url::check_request(text(arguments, 0)?).is_ok()))
        })
        .help("whether a text is a URL, absolute or a path from the root"),
    );
    functions.add(
        Overload::method("getScheme", URL, Kind::String, |arguments, _| {
            Ok(Val::text(opaque::<Url>(arguments, 0)?.0.scheme.as_str()))
        })
        .help("`https` of `https://host:80/path`"),
    );
    functions.add(
        Overload::method("getHost", URL, Kind::String, |arguments, _| {
            Ok(Val::text(opaque::<Url>(arguments, 0)?.0.host.as_str()))
        })
        .help("`host:80` of `https://host:80/path`"),
    );
    functions.add(
        Overload::method("getHostname", URL, Kind::String, |arguments, _| {
            Ok(Val::text(opaque::<Url>(arguments, 0)?.0.hostname()))
        })
        .help("`host` of `https://host:80/path`"),
    );
    functions.add(
        Overload::method("getPort", URL, Kind::String, |arguments, _| {
            Ok(Val::text(opaque::<Url>(arguments, 0)?.0.port()))
        })
        .help("`80` of `https://host:80/path`"),
    );
    functions.add(
        Overload::method("getEscapedPath", URL, Kind::String, |arguments, _| {
            Ok(Val::text(url::escaped_path(&opaque::<Url>(arguments, 0)?.0)))
        })
        .help("`/path` of `https://host:80/path`, with escapes"),
    );
    functions.add(
        Overload::method("getQuery", URL, Kind::Map, |arguments, _| {
            Ok(query(&opaque::<Url>(arguments, 0)?.0.query))
        })
        .help("the values of each name in the query"),
    );
}

fn parse(text: &str) -> Result<Url, Failure> {
    let failed = |reason: String| {
        Failure::value(format!("URL parse error during conversion from string: parse {text:?}: {reason}"))
    };
    url::check_request(text).map_err(failed)?;
    url::parse_url(text).map(Url).map_err(failed)
}

fn query<'a>(query: &str) -> Val<'a> {
    let mut names: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    let mut values: Vec<(String, Vec<Val<'a>>)> = Vec::new();
    for (name, value) in url::query_pairs(query) {
        let place = *names.entry(name.clone()).or_insert(values.len());
        match values.get_mut(place) {
            Some((_, known)) => known.push(Val::text(value)),
            None => values.push((name, vec![Val::text(value)])),
        }
    }
    let entries: Entries<'a> =
        values.into_iter().map(|(name, values)| (name.into(), Val::list(values))).collect();
    Val::Map(MapVal::Made(entries.into()))
}
