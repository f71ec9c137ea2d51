//! URLs.

use std::any::Any;
use std::fmt;

use kubewright_golib::url;

use super::{CelLibrary, opaque_argument, text_argument};
use crate::cost::traversal_cost;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelFunctions, CelOverload};
use crate::standard::size_of;
use crate::val::{CelKind, MapEntries, MapVal, Opaque, Val};

/// The library of URLs.
pub const URLS: CelLibrary =
    CelLibrary { name: "urls", functions: add_url_functions, macros: MacroSet::NONE, types: &[] };

const URL_TYPE_NAME: &str = "kubernetes.URL";
const URL: &[CelKind] = &[CelKind::Opaque(URL_TYPE_NAME)];

struct UrlVal(url::GoUrl);

impl Opaque for UrlVal {
    fn type_name(&self) -> &'static str {
        URL_TYPE_NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: Option<&Self> = other.as_any().downcast_ref();
        other.is_some_and(|other| url::join_url(&self.0) == url::join_url(&other.0))
    }
}

impl fmt::Debug for UrlVal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "url({:?})", url::join_url(&self.0))
    }
}

fn add_url_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function("url", &[CelKind::String], CelKind::Opaque(URL_TYPE_NAME), |arguments, _| {
            Ok(Val::opaque(parse_url_val(text_argument(arguments, 0)?)?))
        })
        .cost(|arguments, _| traversal_cost(size_of(arguments, 0)))
        .help("the URL that a text is"),
    );
    functions.add(
        CelOverload::function("isURL", &[CelKind::String], CelKind::Bool, |arguments, _| {
            Ok(Val::Bool(url::check_request(text_argument(arguments, 0)?).is_ok()))
        })
        .help("whether a text is a URL, absolute or a path from the root"),
    );
    functions.add(
        CelOverload::method("getScheme", URL, CelKind::String, |arguments, _| {
            Ok(Val::text(opaque_argument::<UrlVal>(arguments, 0)?.0.scheme.as_str()))
        })
        .help("`https` of `https://host:80/path`"),
    );
    functions.add(
        CelOverload::method("getHost", URL, CelKind::String, |arguments, _| {
            Ok(Val::text(opaque_argument::<UrlVal>(arguments, 0)?.0.host.as_str()))
        })
        .help("`host:80` of `https://host:80/path`"),
    );
    functions.add(
        CelOverload::method("getHostname", URL, CelKind::String, |arguments, _| {
            Ok(Val::text(opaque_argument::<UrlVal>(arguments, 0)?.0.hostname()))
        })
        .help("`host` of `https://host:80/path`"),
    );
    functions.add(
        CelOverload::method("getPort", URL, CelKind::String, |arguments, _| {
            Ok(Val::text(opaque_argument::<UrlVal>(arguments, 0)?.0.port()))
        })
        .help("`80` of `https://host:80/path`"),
    );
    functions.add(
        CelOverload::method("getEscapedPath", URL, CelKind::String, |arguments, _| {
            Ok(Val::text(url::escaped_path(&opaque_argument::<UrlVal>(arguments, 0)?.0)))
        })
        .help("`/path` of `https://host:80/path`, with escapes"),
    );
    functions.add(
        CelOverload::method("getQuery", URL, CelKind::Map, |arguments, _| {
            Ok(query_to_map(&opaque_argument::<UrlVal>(arguments, 0)?.0.query))
        })
        .help("the values of each name in the query"),
    );
}

fn parse_url_val(text: &str) -> Result<UrlVal, CelFailure> {
    let failed = |reason: String| {
        CelFailure::value(format!("URL parse error during conversion from string: parse {text:?}: {reason}"))
    };
    url::check_request(text).map_err(failed)?;
    url::parse_url(text).map(UrlVal).map_err(failed)
}

fn query_to_map<'a>(query: &str) -> Val<'a> {
    let mut names: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    let mut values: Vec<(String, Vec<Val<'a>>)> = Vec::new();
    for (name, value) in url::query_pairs(query) {
        let place = *names.entry(name.clone()).or_insert(values.len());
        match values.get_mut(place) {
            Some((_, known)) => known.push(Val::text(value)),
            None => values.push((name, vec![Val::text(value)])),
        }
    }
    let entries: MapEntries<'a> =
        values.into_iter().map(|(name, values)| (name.into(), Val::list(values))).collect();
    Val::Map(MapVal::Made(entries.into()))
}
