//! Makes a question shorter that still has the property that made it worth telling.

use kubewright_value::Value;

use super::ComparedQuestion;

/// The most questions that are asked to shorten one.
const MAX_ATTEMPTS: usize = 2_000;

/// Returns the shortest question found that `is_wanted` accepts.
pub(super) fn shrink_question(
    question: ComparedQuestion,
    mut is_wanted: impl FnMut(&ComparedQuestion) -> bool,
) -> ComparedQuestion {
    let mut best = question;
    let mut attempts = 0;
    let mut has_changed = true;
    while has_changed && attempts < MAX_ATTEMPTS {
        let shorter = shorter_questions(&best).into_iter().inspect(|_| attempts += 1).find(&mut is_wanted);
        has_changed = shorter.is_some();
        best = shorter.unwrap_or(best);
    }
    best
}

/// Returns the questions with a piece of the text or of the data left out, the shortest first.
fn shorter_questions(question: &ComparedQuestion) -> Vec<ComparedQuestion> {
    let texts = shorter_texts(&question.text)
        .into_iter()
        .map(|text| ComparedQuestion { text, data: question.data.clone() });
    let values = smaller_values(&question.data)
        .into_iter()
        .map(|data| ComparedQuestion { text: question.text.clone(), data });
    texts.chain(values).collect()
}

fn shorter_texts(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut shorter = Vec::new();
    let mut size = characters.len();
    while size > 0 {
        for start in (0..characters.len()).step_by(size) {
            let kept = characters.iter().take(start).chain(characters.iter().skip(start + size));
            shorter.push(kept.collect());
        }
        size /= 2;
    }
    shorter
}

fn smaller_values(value: &Value) -> Vec<Value> {
    let mut smaller = Vec::new();
    match value {
        Value::Object(map) => {
            for (key, inner) in map.iter() {
                let without = map.iter().filter(|(other, _)| *other != key);
                smaller
                    .push(Value::object(without.map(|(key, value)| (key.clone(), value.clone())).collect()));
                for changed in smaller_values(inner) {
                    let mut copy = (**map).clone();
                    copy.insert(key.clone(), changed);
                    smaller.push(Value::object(copy));
                }
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                let mut without = (**items).clone();
                without.remove(index);
                smaller.push(Value::array(without));
                for changed in smaller_values(inner) {
                    let mut copy = (**items).clone();
                    if let Some(place) = copy.get_mut(index) {
                        *place = changed;
                    }
                    smaller.push(Value::array(copy));
                }
            }
        }
        _ => {}
    }
    smaller
}

#[cfg(test)]
mod tests {
    use kubewright_value::json;

    use super::{ComparedQuestion, shrink_question};

    #[test]
    fn a_question_keeps_only_what_is_wanted() {
        let data = json::parse(r#"{"a":[1,{"b":2,"c":3}],"d":4}"#).unwrap_or_default();
        let question = ComparedQuestion { text: "one two three".to_owned(), data };
        let shortest = shrink_question(question, |asked| {
            asked.text.contains("two") && asked.data.to_string().contains("\"b\"")
        });
        assert_eq!(shortest.text, "two");
        assert_eq!(shortest.data.to_string(), r#"{"a":[{"b":2}]}"#);
    }
}
