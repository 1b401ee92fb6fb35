//! `/healthz`: the server answers. `/metrics`: its counters, as Prometheus reads them.

use std::fmt::Write as _;

use pi_web::http::StatusCode;
use pi_web::server::whole;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Call, json};

/// The answer of `/healthz`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Health {
    /// Always `ok`: a server that is not does not answer.
    pub status: &'static str,
}

/// Answers that the server is alive.
pub(crate) async fn healthz(_: Call) -> Answer {
    json(StatusCode::OK, &Health { status: "ok" })
}

/// Answers with the counters.
pub(crate) async fn metrics(call: Call) -> Answer {
    let state = &call.state;
    let open = state.host.open_sessions();
    let running = open.iter().filter(|hosted| hosted.is_busy()).count();
    let questions: usize = open.iter().map(|hosted| hosted.ui().open_questions().len()).sum();
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, value: &dyn std::fmt::Display| {
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n");
    };
    gauge("pi_open_sessions", "Sessions that are open in this server.", &open.len());
    gauge("pi_running_sessions", "Open sessions whose agent works.", &running);
    gauge("pi_open_questions", "Questions that wait for an answer.", &questions);
    gauge("pi_streams", "Open event streams and sockets.", &state.metrics.streams());
    let started = state.started.as_second();
    gauge("process_start_time_seconds", "Start of the server, in Unix time.", &started);
    let name = "pi_http_answers_total";
    let _ = write!(text, "# HELP {name} Answers by class of status.\n# TYPE {name} counter\n");
    for (class, count) in state.metrics.answers().into_iter().enumerate() {
        let _ = writeln!(text, "{name}{{status=\"{}xx\"}} {count}", class + 1);
    }
    Ok(whole(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text))
}
