//! Whole rules: what the engine says of an object, and what the expressions do.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kubewright_engine::{ClosedWorld, Dialect as _, Engine, Operation, Request, Settings, Status};
use kubewright_lang::cel::{Bindings, Cost, Environment, Program, Val};
use kubewright_value::{Document, Map, Source, Value, yaml};

use crate::convert::{Expressions, Validation};
use crate::kyverno::Kyverno;

/// Returns what the rule `name` says of the request; nothing when it is not about it.
pub(super) fn by_engine(engine: &Engine, name: &str, request: &Request) -> Option<&'static str> {
    let settings = Settings { is_traced: true, ..Settings::default() };
    let decision = engine.decide(request, &ClosedWorld::default(), &settings);
    let outcome = decision.outcomes.iter().find(|outcome| outcome.rule.rule == name)?;
    match outcome.status {
        Status::Pass => Some("pass"),
        Status::Fail | Status::Warn | Status::Error => Some("fail"),
        Status::Skip if outcome.is_judged => Some("skip"),
        Status::Skip => None,
    }
}

/// Returns what the expressions say of the request.
pub(super) fn by_expressions(made: &Expressions, request: &Request) -> Result<&'static str, String> {
    let mut environment =
        Environment::kubernetes().variable("object").variable("oldObject").variable("request");
    for (name, _) in &made.variables {
        environment = environment.variable(format!("variables.{name}"));
    }
    let is_deletion = request.operation == Operation::Delete;
    let object = if is_deletion { Value::Null } else { request.object.clone() };
    let old = request.old_object.clone();
    let asked = crate::cel::request::value(request);
    let program = |text: &str| Program::compile(text, &environment).map_err(|bad| format!("{text}\n{bad:?}"));
    let mut variables: Vec<(String, Value)> = Vec::new();
    let run = |text: &str, variables: &[(String, Value)]| {
        let program = program(text)?;
        let mut bindings =
            Bindings::new().with("object", &object).with("oldObject", &old).with("request", &asked);
        for (name, value) in variables {
            bindings.bind(name, Val::borrowed(value));
        }
        let made =
            program.evaluate(&bindings, &mut Cost::new(10_000_000)).map_err(|error| error.to_string())?;
        made.to_value().map_err(|error| format!("{error:?}"))
    };
    for (name, text) in &made.conditions {
        if run(text, &[]).map_err(|error| format!("{name}: {error}"))? != Value::from(true) {
            return Ok("skip");
        }
    }
    for (name, text) in &made.variables {
        let value = run(text, &variables)?;
        variables.push((format!("variables.{name}"), value));
    }
    for validation in &made.validations {
        if run(&validation.expression, &variables)? != Value::from(true) {
            return Ok("fail");
        }
    }
    Ok("pass")
}

#[derive(Debug, Default)]
pub(super) struct Agreement {
    pub(super) same: BTreeMap<&'static str, usize>,
    pub(super) errors: usize,
    pub(super) different: usize,
    objects: BTreeMap<PathBuf, Vec<Value>>,
}

fn objects(folder: &Path, found: &mut Vec<Value>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            objects(&path, found);
        } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let documents = yaml::read(&Source::new(path.display().to_string(), text)).documents;
            found.extend(documents.into_iter().map(|d| d.value).filter(|v| v.get("kind").is_some()));
        }
    }
}

impl Agreement {
    pub(super) fn check(&mut self, path: &Path, document: &Document, rule: &str, made: &Expressions) {
        let folder = path.parent().unwrap().to_path_buf();
        let all = self.objects.entry(folder.clone()).or_insert_with(|| {
            let mut found = Vec::new();
            objects(&folder, &mut found);
            found
        });
        let engine = Engine::new(Kyverno::new(&crate::Options::default()).compile(document, &[]).rules);
        for object in all {
            for operation in [Operation::Create, Operation::Update, Operation::Delete] {
                let mut request = Request::for_object(object.clone(), operation, "default");
                if operation != Operation::Create {
                    request.old_object = object.clone();
                }
                request.user =
                    Map::from([("username", Value::from("u")), ("groups", Value::array(vec![]))]).into();
                let Some(want) = by_engine(&engine, rule, &request) else { continue };
                if operation == Operation::Delete && !made.judges_deletions {
                    if want != "skip" {
                        println!("DELETE {} {rule}: {want}", path.display());
                        self.different += 1;
                    }
                    continue;
                }
                match by_expressions(made, &request) {
                    Ok(got) if got == want => *self.same.entry(want).or_default() += 1,
                    // The object was as bad before.
                    Ok("fail") if operation == Operation::Update && want == "skip" => {
                        let before = made
                            .was_violated
                            .clone()
                            .map(|expression| Validation { expression, ..Validation::default() });
                        let before = Expressions {
                            validations: before.into_iter().collect(),
                            ..Expressions::default()
                        };
                        assert_eq!(by_expressions(&before, &request).as_deref(), Ok("pass"), "{before:#?}");
                        *self.same.entry("was violated").or_default() += 1;
                    }
                    Ok(got) => {
                        self.different += 1;
                        println!(
                            "DIFFERENT {} {rule} {operation:?}: {got} for {want}\n{}\n{made:#?}",
                            path.display(),
                            kubewright_value::json::to_string(object)
                        );
                    }
                    Err(error) => {
                        self.errors += 1;
                        println!("ERROR {} {rule} {operation:?}: {error} for {want}", path.display());
                    }
                }
            }
        }
    }
}
