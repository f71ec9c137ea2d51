//! Lists of objects to maps.

use kubewright_value::Text;

use super::{Library, Macros, text};
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Entries, Kind, MapVal, Val};

/// The library of `listObjToMap`.
pub const TRANSFORM: Library =
    Library { name: "transform", functions: add, macros: Macros::NONE, types: &[] };

fn add(functions: &mut Functions) {
    const PARAMETERS: &[Kind] = &[Kind::List, Kind::List, Kind::String, Kind::String];
    for name in ["listObjToMap", "transform.listObjToMap"] {
        functions.add(Overload::function(name, PARAMETERS, Kind::Map, list_to_map).help(
            "a map: its keys are a field of the objects of one list, its values a field of those of another",
        ));
    }
}

fn list_to_map<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let [Val::List(keys), Val::List(values), ..] = arguments else { return Err(Failure::mismatch()) };
    let (key_name, value_name) = (text(arguments, 2)?, text(arguments, 3)?);
    if keys.len() != values.len() {
        return Err(Failure::value(format!(
            "listObjToMap must take lists of equal length. list1: {}, list2: {}",
            keys.len(),
            values.len()
        )));
    }
    call.make(keys.len())?;
    let mut made: Vec<(Text, Val<'a>)> = Vec::with_capacity(keys.len());
    let mut places = std::collections::HashMap::new();
    for (from, to) in keys.iter().zip(values.iter()) {
        let key = match object(&from, call)?.field(key_name) {
            Some(Val::String(key)) => key.into_owned(),
            _ => {
                return Err(Failure::value(
                    "the passed key name cannot be handled as a string in the key object list",
                ));
            }
        };
        let value = object(&to, call)?.field(value_name).unwrap_or_default();
        // Of equal keys the last counts.
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
    Ok(Val::Map(MapVal::Made(made.into_iter().collect::<Entries<'a>>().into())))
}

/// Returns the map that `value` is, whose keys all have to be texts.
fn object<'v, 'a>(value: &'v Val<'a>, call: &mut Call<'_, 'a>) -> Result<&'v MapVal<'a>, Failure> {
    let Val::Map(map) = value else {
        return Err(Failure::type_error(format!(
            "the lists must be of objects, found `{}`",
            value.type_name()
        )));
    };
    if let MapVal::Made(_) = map {
        call.work(map.len())?;
        if let Some((key, _)) = map.iter().find(|(key, _)| key.as_str().is_none()) {
            return Err(Failure::value(format!("failed to convert key to a string, {}", key.type_name())));
        }
    }
    Ok(map)
}
