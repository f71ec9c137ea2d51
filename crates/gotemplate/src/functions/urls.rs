//! URLs taken apart and put together.

use std::collections::BTreeMap;

use kubewright_golib::url::{Url, join, parse, user_text};
use kubewright_value::Text;

use super::super::call::{Call, Failure, Outcome};
use super::super::item::{Item, Of};
use super::arguments::{any, text};
use super::{Function, Type, function};

pub(super) const TABLE: &[Function] =
    &[function("urlParse", &[Type::Text], url_parse), function("urlJoin", &[Type::Dict], url_join)];

fn url_parse(_: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let whole = text(arguments, 0);
    let url = parse(whole).map_err(|reason| format!("unable to parse url: parse {whole:?}: {reason}"))?;
    let hostname = url.hostname().to_owned();
    let userinfo = url.user.as_ref().map(user_text).unwrap_or_default();
    let parts = [
        ("scheme", url.scheme),
        ("host", url.host),
        ("hostname", hostname),
        ("path", url.path),
        ("query", url.query),
        ("opaque", url.opaque),
        ("fragment", url.fragment),
        ("userinfo", userinfo),
    ];
    let entries: BTreeMap<Text, Item> =
        parts.into_iter().map(|(name, value)| (Text::new_static(name), Item::text(value))).collect();
    Ok(Item::dict(Of::Any, entries)?)
}

fn url_join(_: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let part = |name: &str| match any(arguments, 0).entry(name).unwrap_or(Item::Missing) {
        Item::Missing => Ok(String::new()),
        Item::Text(text) => Ok(text.to_string()),
        nil if nil.is_nil() => Err(Failure::from(super::lists::NIL)),
        other => {
            let kind = other.kind_name();
            Err(format!("unable to parse {name} key, must be of type string, but {kind} found").into())
        }
    };
    let mut url = Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        ..Url::default()
    };
    let user = part("userinfo")?;
    if !user.is_empty() {
        let parsed = parse(&format!("proto://{user}@host"))
            .map_err(|reason| format!("unable to parse userinfo in dict: {reason}"))?;
        url.user = parsed.user;
    }
    Ok(Item::text(join(&url)))
}
