//! `pi auth doctor`: the sources of each provider's credential, and why each one is used or not.

use std::io::{BufWriter, Write as _};

use pi_ai::Model;
use pi_base::text;
use pi_models::{AuthStatus, ExplainedSource, SourceOutcome};
use serde_json::{Value, json};

use super::status::{State, add_status, describe_source, selected, validity};
use super::{CommandResult, Credentials, open, success};
use crate::exit::note;
use crate::flags::parse::CommandArgs;
use crate::hints::Hint as _;

/// The size of the request whose price is shown, in tokens.
const INPUT: u32 = 10_000;
const OUTPUT: u32 = 1_000;

/// The explanation of one provider.
struct Report {
    provider: String,
    status: AuthStatus,
    sources: Vec<ExplainedSource>,
    /// The default model and the price of a request in dollars.
    cost: Option<(String, f64)>,
}

pub(in crate::commands) fn doctor(args: &CommandArgs) -> CommandResult {
    let credentials = open()?;
    for problem in &credentials.problems {
        note(&problem.to_string());
    }
    let providers = selected(args, &credentials)?;
    let reports: Vec<Report> =
        providers.into_iter().map(|provider| report(&credentials, provider)).collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let list: Vec<Value> = reports.iter().map(to_json).collect();
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
        out.flush()?;
        return Ok(success());
    }
    // What is missing is explained at length only if it was asked for.
    let is_long = |report: &&Report| {
        !args.words.is_empty() || State::of(&report.status) != State::NotConfigured
    };
    for report in reports.iter().filter(is_long) {
        write!(out, "{}", describe(report))?;
    }
    let absent: Vec<&Report> = reports.iter().filter(|report| !is_long(report)).collect();
    if !absent.is_empty() {
        writeln!(out, "Not configured:")?;
        for report in absent {
            let tried: Vec<&str> =
                report.sources.iter().map(|source| source.name.as_str()).collect();
            writeln!(out, "  {}: none of {}", report.provider, text::line(&tried.join(", "), 200))?;
        }
    }
    out.flush()?;
    Ok(success())
}

fn report(credentials: &Credentials, provider: String) -> Report {
    let registry = &credentials.registry;
    let cost = registry
        .default_model(&provider)
        .and_then(|model| Some((model.id.clone(), price(&model)?)));
    Report {
        status: registry.auth_status(&provider),
        sources: registry.explain(&provider),
        cost,
        provider,
    }
}

/// Returns the price of a request in dollars; `None` if the price of the model is not known.
fn price(model: &Model) -> Option<f64> {
    let cost = &model.cost;
    let price = (cost.input * f64::from(INPUT) + cost.output * f64::from(OUTPUT)) / 1_000_000.0;
    (price > 0.0).then_some(price)
}

fn describe(report: &Report) -> String {
    let status = &report.status;
    let state = State::of(status);
    let summary = match (state, status.source) {
        (State::Ready, Some(source)) => format!("{}{}", describe_source(source), validity(status)),
        (State::Ready, None) => "ready".to_owned(),
        (State::NotConfigured, _) => "not configured".to_owned(),
        _ => "not usable".to_owned(),
    };
    let mut text = format!("{} {}: {summary}\n", state.mark(), status.name);
    for source in &report.sources {
        let (mark, note) = match &source.outcome {
            SourceOutcome::Used(what) => ("→", what.clone()),
            SourceOutcome::Failed(why) => ("✗", why.clone()),
            SourceOutcome::Absent(why) => (" ", why.clone()),
            SourceOutcome::Tried(place) => ("?", format!("asked at {place}")),
            _ => (" ", "not asked: an earlier source decides".to_owned()),
        };
        text += &format!("    {mark} {}: {}\n", source.name, text::line(&note, 300));
    }
    if let Some(problem) = &status.problem {
        text += &format!("    problem: {problem}\n");
        if let Some(hint) = problem.hint() {
            text += &format!("    hint: {hint}\n");
        }
    }
    if let Some((model, price)) = &report.cost
        && state == State::Ready
    {
        text += &format!("    cost: {model}, ${price:.4} for {INPUT} tokens in and {OUTPUT} out\n");
    }
    text
}

fn to_json(report: &Report) -> Value {
    let status = &report.status;
    let sources = report.sources.iter().map(|source| {
        let (outcome, note) = match &source.outcome {
            SourceOutcome::Used(what) => ("used", Some(what)),
            SourceOutcome::Failed(why) => ("failed", Some(why)),
            SourceOutcome::Absent(why) => ("absent", Some(why)),
            SourceOutcome::Tried(place) => ("tried", Some(place)),
            _ => ("not_reached", None),
        };
        json!({ "source": source.name, "outcome": outcome, "note": note })
    });
    let mut object = json!({
        "provider": report.provider,
        "account": status.name.account,
        "status": State::of(status).word(),
        "sources": sources.collect::<Vec<Value>>(),
    });
    add_status(&mut object, status);
    if let Some((model, price)) = &report.cost {
        object["cost"] =
            json!({ "model": model, "inputTokens": INPUT, "outputTokens": OUTPUT, "total": price });
    }
    object
}
