//! Values of structures: `Object.spec{nodeName: 'a'}`.

use kubewright_value::{Number, Text, Value};

use super::{ListVal, MapVal, Val};

/// The largest integer that every reader of JSON keeps.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

impl Val<'_> {
    /// Returns the name of the structure that it is a value of.
    #[must_use]
    pub fn structure(&self) -> Option<&Text> {
        match self {
            Self::Map(map) => map.structure(),
            _ => None,
        }
    }

    /// Returns the first structure inside whose name is not that of its place, below the name of the whole value: the name
    /// that it has and the one that its place has.
    #[must_use]
    pub fn misplaced_structure(&self) -> Option<(Text, String)> {
        let mut place = self.structure()?.to_string();
        self.misplaced(&mut place)
    }

    fn misplaced(&self, place: &mut String) -> Option<(Text, String)> {
        match self {
            Self::List(ListVal::Made(items)) => items.iter().find_map(|item| item.misplaced(place)),
            Self::Optional(Some(value)) => value.misplaced(place),
            Self::Map(map @ MapVal::Made(_)) => {
                let name = map.structure()?;
                if *name != *place {
                    return Some((name.clone(), place.clone()));
                }
                let end = place.len();
                map.iter().find_map(|(field, value)| {
                    place.truncate(end);
                    place.push('.');
                    place.push_str(field.as_str().unwrap_or_default());
                    let found = value.misplaced(place);
                    place.truncate(end);
                    found
                })
            }
            _ => None,
        }
    }

    /// Returns the value as [`Val::to_value`] does, with numbers that the expression made as all readers of JSON keep
    /// them: whole doubles are integers, and large integers are texts.
    ///
    /// # Errors
    /// As [`Val::to_value`].
    pub fn to_safe_value(&self) -> Result<Value, String> {
        let safe = |number: i64| match number.unsigned_abs() <= MAX_SAFE_INTEGER {
            true => Value::from(number),
            false => Value::from(number.to_string()),
        };
        Ok(match self {
            Self::Int(number) => safe(*number),
            Self::UInt(number) => {
                i64::try_from(*number).map_or_else(|_| Value::from(number.to_string()), safe)
            }
            Self::Double(number) if number.is_finite() => Value::Number(Number::Float(*number).normalized()),
            Self::Optional(Some(value)) => value.to_safe_value()?,
            Self::List(ListVal::Made(items)) => {
                Value::array(items.iter().map(Val::to_safe_value).collect::<Result<_, _>>()?)
            }
            Self::Map(map @ MapVal::Made(_)) => {
                // Keys and sizes are checked there.
                let Value::Object(written) = self.to_value()? else { return self.to_value() };
                let values = map.iter().map(|(_, value)| value.to_safe_value());
                let entries = written.iter().zip(values).map(|((key, _), value)| Ok((key.clone(), value?)));
                Value::object(entries.collect::<Result<_, String>>()?)
            }
            other => other.to_value()?,
        })
    }
}
