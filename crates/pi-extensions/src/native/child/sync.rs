//! Programs that JavaScript waits for: `spawnSync` and its relatives.

use rquickjs::{Ctx, IntoJs as _, Object};

use super::options::{Prepared, SyncLimits};
use super::running::Running;
use crate::error::NativeError;
use crate::value::Bytes;

/// A program that ended, or was ended.
#[derive(Debug, Default)]
pub(super) struct Finished {
    pid: u32,
    status: Option<i32>,
    signal: Option<i32>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Code of the reason for which it was ended.
    error: Option<&'static str>,
}

impl Finished {
    pub(super) fn into_object<'js>(self, ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let object = Object::new(ctx.clone())?;
        object.set("pid", self.pid)?;
        object.set("status", self.status)?;
        object.set("signal", self.signal)?;
        object.set("stdout", Bytes(self.stdout).into_js(ctx)?)?;
        object.set("stderr", Bytes(self.stderr).into_js(ctx)?)?;
        object.set("error", self.error)?;
        Ok(object)
    }
}

/// Runs a program to its end. The runtime of this thread waits meanwhile, so that the program has
/// one of its own.
pub(super) fn run(prepared: Prepared) -> Result<Finished, NativeError> {
    let work = std::thread::Builder::new().name("spawn-sync".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(follow(prepared))
    })?;
    work.join().unwrap_or_else(|_| Err(NativeError::new("the process could not be followed")))
}

async fn follow(mut prepared: Prepared) -> Result<Finished, NativeError> {
    let limits = std::mem::take(&mut prepared.limits);
    let running = prepared.start()?;
    let mut finished = Finished { pid: running.pid(), ..Finished::default() };
    let input = async {
        // A program may end without reading its input.
        let _ = running.write(&limits.input).await;
        running.close(0);
    };
    let outputs = collect(&running, &limits, &mut finished);
    let both = async { tokio::join!(input, outputs) };
    match limits.timeout {
        None => drop(both.await),
        Some(timeout) => {
            if tokio::time::timeout(timeout, both).await.is_err() {
                finished.error = Some("ETIMEDOUT");
                running.kill(limits.kill_signal)?;
                running.close(1);
                running.close(2);
            }
        }
    }
    (finished.status, finished.signal) = running.wait().await;
    Ok(finished)
}

/// Reads both outputs until they end or exceed their limit.
async fn collect(running: &Running, limits: &SyncLimits, finished: &mut Finished) {
    let Finished { stdout, stderr, .. } = finished;
    let read = async |stream: u32, bytes: &mut Vec<u8>| {
        while let Ok(Some(more)) = running.read(stream).await {
            bytes.extend_from_slice(&more);
            if bytes.len() > limits.most_output {
                bytes.truncate(limits.most_output);
                // The program must not wait for a reader for ever.
                let _ = running.kill(limits.kill_signal);
                return true;
            }
        }
        false
    };
    let (first, second) = tokio::join!(read(1, stdout), read(2, stderr));
    if first || second {
        finished.error = Some("ENOBUFS");
    }
}
