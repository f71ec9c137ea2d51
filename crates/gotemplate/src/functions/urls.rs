//! URLs taken apart and put together.

use std::collections::BTreeMap;

use kubewright_golib::url::{GoUrl, join_url, parse_url, user_text};
use kubewright_value::Text;

use super::super::call::{CallFailure, CallResult, FunctionCall};
use super::super::item::{ElementType, TemplateItem};
use super::arguments::{argument_or_nil, text_argument};
use super::{ParameterType, TemplateFunction, fixed_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("urlParse", &[ParameterType::Text], url_parse),
    fixed_function("urlJoin", &[ParameterType::Dict], url_join),
];

fn url_parse(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let whole = text_argument(arguments, 0);
    let url = parse_url(whole).map_err(|reason| format!("unable to parse url: parse {whole:?}: {reason}"))?;
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
    let entries: BTreeMap<Text, TemplateItem> =
        parts.into_iter().map(|(name, value)| (Text::new_static(name), TemplateItem::text(value))).collect();
    Ok(TemplateItem::dict(ElementType::Any, entries)?)
}

fn url_join(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let part = |name: &str| match argument_or_nil(arguments, 0).entry(name).unwrap_or(TemplateItem::Missing) {
        TemplateItem::Missing => Ok(String::new()),
        TemplateItem::Text(text) => Ok(text.to_string()),
        nil if nil.is_nil() => Err(CallFailure::from(super::lists::NIL)),
        other => {
            let kind = other.kind_name();
            Err(format!("unable to parse {name} key, must be of type string, but {kind} found").into())
        }
    };
    let mut url = GoUrl {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        ..GoUrl::default()
    };
    let user = part("userinfo")?;
    if !user.is_empty() {
        let parsed = parse_url(&format!("proto://{user}@host"))
            .map_err(|reason| format!("unable to parse userinfo in dict: {reason}"))?;
        url.user = parsed.user;
    }
    Ok(TemplateItem::text(join_url(&url)))
}
