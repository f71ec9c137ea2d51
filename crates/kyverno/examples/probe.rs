use kubewright_engine::*;
use kubewright_k8s::*;
use kubewright_value::*;
fn drop_empty(v: &Value) -> Value {
    match v {
        Value::Array(i) => Value::array(i.iter().map(drop_empty).collect()),
        Value::Object(m) => Value::object(m.iter().map(|(k, v)| (k.clone(), drop_empty(v))).filter(|(_, v)| v.as_object().is_none_or(|m| !m.is_empty())).collect()),
        o => o.clone(),
    }
}
fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let only = std::env::args().nth(2);
    let suite = json::parse(&text).unwrap();
    let dialect = kubewright_kyverno::Kyverno::new(&[], kubewright_jmespath::Inputs::default());
    let (mut ok, mut n) = (0, 0);
    for case in suite.get("cases").unwrap().as_array().unwrap() {
        let name = case.str_at(&["name"]);
        if only.as_deref().is_some_and(|o| !name.starts_with(o)) { continue }
        n += 1;
        let docs = yaml::read(&Source::new("policy.yaml", case.str_at(&["policy"]))).documents;
        let mut rules = vec![]; let mut diags = vec![];
        for d in &docs { let c = dialect.compile(d, &[]); rules.extend(c.rules); diags.extend(c.diagnostics); }
        let errors: Vec<_> = diags.iter().filter(|d| d.is_error()).map(|d| format!("{} {} {}", d.code.id, d.location, d.message)).collect();
        let refused = case.get("refused").and_then(Value::as_bool) == Some(true);
        if refused { if errors.is_empty() { println!("{name}: SHOULD REFUSE"); } else { ok += 1; if only.is_some() {println!("{errors:?}")} } continue }
        if !errors.is_empty() { println!("{name}: refused {errors:?}"); }
        if only.is_some() { for d in &diags { println!("  diag {} {} {}", d.code.id, d.location, d.message); } }
        let engine = Engine::new(rules);
        let res = yaml::read(&Source::new("r.yaml", case.str_at(&["resources"]))).documents;
        let mut problems = vec![]; let mut got = vec![]; let mut last = Value::Null;
        for r in &res {
            let mut request = AdmissionRequest::for_object(r.value.clone(), Operation::Create, "default");
            request.fill_namespace();
            let d = engine.decide(&request, &ClosedWorld::new([]), &DecisionSettings { is_as_written: true, is_traced: only.is_some(), ..Default::default() });
            for o in &d.outcomes { if o.is_judged || o.status == RuleStatus::Error { got.push((o.rule.rule.to_string(), o.status.to_string(), o.message.to_string())); }
              if let Some(t) = &o.trace { print_trace(t, 1); } }
            last = d.object;
        }
        let mut want: Vec<_> = case.get("expected").unwrap().as_array().unwrap().iter().map(|e| (e.str_at(&["rule"]).to_owned(), e.str_at(&["result"]).to_owned(), e.str_at(&["message"]).to_owned())).collect();
        want.sort(); got.sort();
        if want != got { problems.push(format!("\n   want {want:?}\n   got  {got:?}")); }
        let patched = case.get("patched").cloned().unwrap_or_default();
        if patched.as_object().is_some_and(|m| !m.is_empty()) && patched != last && drop_empty(&patched) != drop_empty(&last) {
            problems.push(format!("\n   WANT {}\n   GOT  {}", json::to_string(&patched), json::to_string(&last)));
        }
        if problems.is_empty() { ok += 1 } else { println!("{name}: {}", problems.concat()); }
    }
    println!("{ok}/{n}");
}
fn print_trace(t: &TraceNode, d: usize) {
    println!("{}{:?} {} | {} | {} @{:?}", "  ".repeat(d), t.verdict, t.what, t.found, t.wanted, t.location.as_ref().map(|l| l.position.to_string()));
    for c in &t.children { print_trace(c, d + 1); }
}
