//! Files: `node:fs` in its sync and async forms.
//!
//! JavaScript calls an operation by its name: `sync(name, ...arguments)` or `start(name,
//! ...arguments)`, which returns a promise. Both read the arguments and ask for access in the same
//! way; they differ in the thread on which the operation runs.

mod call;
mod copy;
mod descriptors;
mod directories;
mod files;
mod metadata;
mod remove;
mod value;
mod watch;

use rquickjs::function::Rest;
use rquickjs::{Ctx, Function, Object, Value};

use crate::error::NativeError;
use crate::host::Host;
use call::{Call, Work};
pub(crate) use descriptors::Descriptors;
use value::FileValue;
pub(crate) use watch::Watch;

/// Reads the arguments of an operation and returns its work.
type Prepare = for<'a, 'js> fn(&mut Call<'a, 'js>) -> Result<Work, NativeError>;

/// All operations, by the file that has them.
const TABLES: &[&[(&str, Prepare)]] = &[
    copy::OPERATIONS,
    directories::OPERATIONS,
    files::OPERATIONS,
    metadata::OPERATIONS,
    remove::OPERATIONS,
];

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let state = host.clone();
    object.set(
        "sync",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, name: String, arguments: Rest<Value<'js>>| {
                run_now(&ctx, &state, &name, arguments.0).map_err(|error| error.throw(&ctx))
            },
        )?,
    )?;
    let state = host.clone();
    object.set(
        "start",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, name: String, arguments: Rest<Value<'js>>| {
                let (approvals, work) =
                    prepare(&ctx, &state, &name, arguments.0).map_err(|error| error.throw(&ctx))?;
                state.promise(&ctx, async move {
                    for approval in approvals {
                        approval.later().await?;
                    }
                    // A panic of the operation is an error of its call.
                    tokio::task::spawn_blocking(work).await?
                })
            },
        )?,
    )?;
    watch::install(ctx, host, &object)?;
    Ok(object)
}

fn run_now<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    name: &str,
    arguments: Vec<Value<'js>>,
) -> Result<FileValue, NativeError> {
    let (approvals, work) = prepare(ctx, host, name, arguments)?;
    host.block(|| {
        for approval in approvals {
            approval.wait()?;
        }
        work()
    })
}

type Prepared = (Vec<crate::access::PendingApproval>, Work);

fn prepare<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    name: &str,
    arguments: Vec<Value<'js>>,
) -> Result<Prepared, NativeError> {
    let operations = TABLES.iter().copied().flatten();
    let found = operations.into_iter().find(|(operation, _)| *operation == name);
    let Some((_, prepare)) = found else {
        return Err(NativeError::new(format!("no operation {name}")));
    };
    let mut call = Call::new(ctx, host, arguments);
    let work = prepare(&mut call)?;
    Ok((call.approvals, work))
}
