//! Files: `node:fs` in its sync and async forms.
//!
//! JavaScript calls an operation by its name: `sync(name, ...arguments)` or `start(name,
//! ...arguments)`, which returns a promise. Both read the arguments and ask for access in the same
//! way; they differ in the thread on which the operation runs.

mod copy;
mod descriptors;
mod directories;
mod files;
mod metadata;
mod remove;
mod request;
mod watch;

use crate::access::PendingApproval;
use crate::error::NativeError;
use crate::host::{Call, Natives, Thrown};
pub(crate) use descriptors::Descriptors;
use request::{Request, Work};
pub(super) use watch::FUNCTIONS as WATCHES;

/// Reads the arguments of an operation and returns its work.
type Prepare = for<'a, 'js> fn(&mut Request<'a, 'js>) -> Result<Work, NativeError>;

/// All operations, by the file that has them.
const TABLES: &[&[(&str, Prepare)]] = &[
    copy::OPERATIONS,
    directories::OPERATIONS,
    files::OPERATIONS,
    metadata::OPERATIONS,
    remove::OPERATIONS,
];

pub(super) const FUNCTIONS: Natives = &[
    ("sync", |call| {
        let (approvals, work) = prepare(call)?;
        let done = call.host.block(|| {
            for approval in approvals {
                approval.wait()?;
            }
            work()
        });
        call.reply(done?)
    }),
    ("start", |call| {
        let (approvals, work) = prepare(call)?;
        call.promise(async move {
            for approval in approvals {
                approval.later().await?;
            }
            // A panic of the operation is an error of its call.
            tokio::task::spawn_blocking(work).await?
        })
    }),
];

/// Reads the name and the arguments of an operation.
fn prepare(call: &Call<'_, '_>) -> Result<(Vec<PendingApproval>, Work), Thrown> {
    let name = call.text(0)?;
    let found = TABLES.iter().copied().flatten().find(|(operation, _)| *operation == name);
    let Some((_, prepare)) = found else {
        return Err(NativeError::new(format!("no operation {name}")).into());
    };
    let mut request = Request::new(call);
    let work = prepare(&mut request)?;
    Ok((request.approvals, work))
}
