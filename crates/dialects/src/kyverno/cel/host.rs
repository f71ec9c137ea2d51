//! Who may do what, which only the API server knows.

use kubewright_engine::{Answer, ApiCall, EvalError, Query};
use kubewright_lang::cel::Host;
use kubewright_value::{Text, Value};

use super::scope::Scope;

impl Host for Scope<'_> {
    fn ask(&self, question: &str, arguments: &[Value]) -> Result<Value, String> {
        let query = Query::Api(ApiCall {
            method: "POST".into(),
            url: question.into(),
            data: Text::from(Value::array(arguments.to_vec()).to_string()),
        });
        match self.world.get(&query) {
            Answer::Found(answer) => Ok(answer),
            Answer::Absent | Answer::Unknown => {
                let error = EvalError::unanswered(query);
                let message = error.message.clone();
                self.unanswered.borrow_mut().get_or_insert(error);
                Err(message)
            }
        }
    }
}
