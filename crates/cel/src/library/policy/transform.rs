//! `listObjToMap`: a map from two lists of objects.

use kubewright_value::Text;

use super::{CelLibrary, MacroSet, text_argument};
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, MapEntries, MapVal, Val};

/// The library of `listObjToMap`.
pub const TRANSFORM: CelLibrary =
    CelLibrary { name: "transform", functions: add_transform_functions, macros: MacroSet::NONE, types: &[] };

fn add_transform_functions(functions: &mut CelFunctions) {
    const PARAMETERS: &[CelKind] = &[CelKind::List, CelKind::List, CelKind::String, CelKind::String];
    for name in ["listObjToMap", "transform.listObjToMap"] {
        functions.add(CelOverload::function(name, PARAMETERS, CelKind::Map, list_to_map).help(
            "a map: its keys are a field of the objects of one list, its values a field of those of another",
        ));
    }
}

fn list_to_map<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    let [Val::List(keys), Val::List(values), ..] = arguments else { return Err(CelFailure::mismatch()) };
    let (key_name, value_name) = (text_argument(arguments, 2)?, text_argument(arguments, 3)?);
    if keys.len() != values.len() {
        return Err(CelFailure::value(format!(
            "listObjToMap must take lists of equal length. list1: {}, list2: {}",
            keys.len(),
            values.len()
        )));
    }
    call.make(keys.len())?;
    let mut made: Vec<(Text, Val<'a>)> = Vec::with_capacity(keys.len());
    let mut places = std::collections::HashMap::new();
    for (from, to) in keys.iter().zip(values.iter()) {
        let key = match text_keyed_map(&from, call)?.field(key_name) {
            Some(Val::String(key)) => key.into_owned(),
            _ => {
                return Err(CelFailure::value(
                    "the passed key name cannot be handled as a string in the key object list",
                ));
            }
        };
        let value = text_keyed_map(&to, call)?.field(value_name).unwrap_or_default();
        // Of equal keys the last one wins.
        match places.entry(key.clone()) {
            std::collections::hash_map::Entry::Occupied(place) => {
                if let Some((_, known)) = made.get_mut(*place.get()) {
                    *known = value;
                }
            }
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(made.len());
                made.push((key, value));
            }
        }
    }
    Ok(Val::Map(MapVal::Made(made.into_iter().collect::<MapEntries<'a>>().into())))
}

/// Returns `value` as a map, whose keys must all be strings.
fn text_keyed_map<'v, 'a>(
    value: &'v Val<'a>,
    call: &mut CelCallContext<'_, 'a>,
) -> Result<&'v MapVal<'a>, CelFailure> {
    let Val::Map(map) = value else {
        return Err(CelFailure::type_error(format!(
            "the lists must be of objects, found `{}`",
            value.type_name()
        )));
    };
    if let MapVal::Made(_) = map {
        call.work(map.len())?;
        if let Some((key, _)) = map.iter().find(|(key, _)| key.as_str().is_none()) {
            return Err(CelFailure::value(format!("failed to convert key to a string, {}", key.type_name())));
        }
    }
    Ok(map)
}
