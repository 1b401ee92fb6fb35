//! Control of the session: abort, compaction, other sessions, reload, the end of the program.

use std::path::PathBuf;

use pi_coding_agent::Replaced;
use pi_coding_agent::session::{Navigation, NavigationError};
use pi_session::ForkPosition;
use serde_json::json;

use super::{log_error, runtime_of, session_of};
use crate::error::NativeError;
use crate::host::{Answer, Call, Natives, Outcome};
use crate::value::Plain;

pub(super) const FUNCTIONS: Natives = &[
    ("abort", |call| {
        let session = session_of(call)?;
        // Requested at once, so that no further request begins; no caller waits for the end.
        call.host.actions().detach(async move { session.abort().await });
        call.done()
    }),
    ("waitForIdle", |call| {
        let session = session_of(call)?;
        call.promise_on_main(async move {
            session.wait_for_idle().await;
            Ok(Plain::Nothing)
        })
    }),
    ("compact", |call| {
        let (session, instructions) = (session_of(call)?, call.optional_text(1)?);
        call.promise_on_main(async move {
            let compacted = session.compact(instructions.as_deref()).await?;
            Ok(json!(compacted).into())
        })
    }),
    ("shutdown", |call| {
        runtime_of(call)?.request_shutdown();
        call.done()
    }),
    ("navigateTree", |call| {
        let (session, target, options) = (session_of(call)?, call.text(1)?, call.json(2)?);
        let text = |name: &str| options[name].as_str().map(str::to_owned);
        let is_set = |name: &str| options[name].as_bool() == Some(true);
        let mut navigation = Navigation::default()
            .summarize(is_set("summarize"))
            .instructions(text("customInstructions"))
            .label(text("label"));
        navigation.replace_instructions = is_set("replaceInstructions");
        call.promise_on_main(async move {
            let result = session.navigate(&target, navigation).await;
            let result = result.map_err(|error| match error {
                NavigationError::Session(error) => log_error(error),
                error => error.into(),
            })?;
            Ok(json!({ "cancelled": result.cancelled }).into())
        })
    }),
    ("newSession", new_session),
    ("switchSession", |call| {
        let runtime = runtime_of(call)?;
        let path = call.host.process.absolute(&PathBuf::from(call.text(1)?));
        call.promise_on_main(async move { replaced(&runtime.switch_session(&path).await?) })
    }),
    ("fork", |call| {
        let (runtime, session, entry) = (runtime_of(call)?, session_of(call)?, call.text(1)?);
        let position = if call.flag(2)? { ForkPosition::At } else { ForkPosition::Before };
        call.promise_on_main(async move {
            if !session.with_log(|log| log.is_saved() || log.path().is_none()) {
                return Err(NativeError::new(UNSAVED));
            }
            replaced(&runtime.fork(&entry, position).await?)
        })
    }),
    ("reload", |call| {
        let runtime = runtime_of(call)?;
        call.promise_on_main(async move {
            runtime.reload().await;
            Ok(Plain::Nothing)
        })
    }),
];

const UNSAVED: &str =
    "This session has not been saved yet. Send a message before cloning or forking it.";

fn replaced(replaced: &Replaced) -> Outcome {
    Ok(json!({ "cancelled": replaced.cancelled }).into())
}

/// `newSession(id, parent, setup)` starts a new session. `setup` is the number of a function in
/// JavaScript that fills its log.
fn new_session<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let (runtime, id) = (runtime_of(call)?, call.id(0)?);
    let thread = call.host.with_extension(id, |extension| extension.thread.clone());
    let (parent, setup) = (call.optional_text(1)?.map(PathBuf::from), call.optional_number(2)?);
    call.promise_on_main(async move {
        let thread = thread.and_then(|thread| thread.upgrade());
        let (Some(setup), Some(thread)) = (setup, thread) else {
            return replaced(&runtime.new_session(parent).await?);
        };
        let prepare = move |_| async move {
            let called = thread.run(id, "setUpSession", vec![setup.into()]).await;
            called.map(drop).map_err(|error| error.message)
        };
        replaced(&runtime.new_session_with(parent, prepare).await?)
    })
}
