//! One call of a native function: its arguments, its result, its promise.
//!
//! Every native function has the same Rust type, so that the engine's glue exists once. The
//! conversions of arguments are plain functions for the same reason.

use pi_agent::BoxFuture;
use rquickjs::function::{IntoJsFunc, ParamRequirement, Params};
use rquickjs::{Coerced, Ctx, FromJs, Function, IntoJs as _, Object, Value, function::This};
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;

use super::Host;
use crate::error::NativeError;
use crate::value::{Bytes, Json, Plain};

/// A native function.
pub(crate) type Native = for<'a, 'js> fn(&Call<'a, 'js>) -> Answer<'js>;

/// Native functions with their names in JavaScript.
pub(crate) type Natives = &'static [(&'static str, Native)];

/// The result of a native function.
pub(crate) type Answer<'js> = Result<Value<'js>, Thrown>;

/// The result of a future that a promise waits for.
pub(crate) type Outcome = Result<Plain, NativeError>;

/// An error that a native function throws: its own, or one that the engine has thrown already.
pub(crate) enum Thrown {
    Native(NativeError),
    Engine(rquickjs::Error),
}

impl From<NativeError> for Thrown {
    fn from(error: NativeError) -> Self {
        Self::Native(error)
    }
}

impl From<rquickjs::Error> for Thrown {
    fn from(error: rquickjs::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<serde_json::Error> for Thrown {
    fn from(error: serde_json::Error) -> Self {
        Self::Native(error.into())
    }
}

/// One call of a native function.
pub(crate) struct Call<'a, 'js> {
    pub(crate) host: &'a Host,
    params: Params<'a, 'js>,
}

impl<'js> Call<'_, 'js> {
    pub(crate) fn ctx(&self) -> &Ctx<'js> {
        self.params.ctx()
    }

    /// Returns an argument; `undefined` if it is missing.
    pub(crate) fn value(&self, at: usize) -> Value<'js> {
        self.params.arg(at).unwrap_or_else(|| Value::new_undefined(self.ctx().clone()))
    }

    /// Returns true if an argument is missing, `undefined` or `null`.
    pub(crate) fn is_missing(&self, at: usize) -> bool {
        let value = self.value(at);
        value.is_undefined() || value.is_null()
    }

    fn get<T: FromJs<'js>>(&self, at: usize) -> Result<T, Thrown> {
        Ok(T::from_js(self.ctx(), self.value(at))?)
    }

    pub(crate) fn text(&self, at: usize) -> Result<String, Thrown> {
        self.get(at)
    }

    pub(crate) fn optional_text(&self, at: usize) -> Result<Option<String>, Thrown> {
        self.get(at)
    }

    pub(crate) fn texts(&self, at: usize) -> Result<Vec<String>, Thrown> {
        self.get(at)
    }

    /// Returns the text of any value. Halves of surrogate pairs become U+FFFD.
    pub(crate) fn any_text(&self, at: usize) -> Result<String, Thrown> {
        let value = self.value(at);
        if value.is_undefined() || value.is_null() {
            return Ok(String::new());
        }
        let Some(string) = value.as_string().cloned() else {
            return Ok(Coerced::<String>::from_js(self.ctx(), value)?.0);
        };
        if let Ok(text) = string.to_string() {
            return Ok(text);
        }
        let class: Object<'js> = self.ctx().globals().get("String")?;
        let prototype: Object<'js> = class.get("prototype")?;
        let repair: Function<'js> = prototype.get("toWellFormed")?;
        Ok(repair.call((This(string),))?)
    }

    pub(crate) fn flag(&self, at: usize) -> Result<bool, Thrown> {
        self.get(at)
    }

    pub(crate) fn number(&self, at: usize) -> Result<f64, Thrown> {
        self.get(at)
    }

    pub(crate) fn optional_number(&self, at: usize) -> Result<Option<f64>, Thrown> {
        self.get(at)
    }

    /// Returns a signed integer, such as the number of a process or signal.
    pub(crate) fn integer(&self, at: usize) -> Result<i32, Thrown> {
        self.get(at)
    }

    pub(crate) fn byte(&self, at: usize) -> Result<u8, Thrown> {
        self.get(at)
    }

    /// Returns a short number that identifies something, such as an extension.
    pub(crate) fn id(&self, at: usize) -> Result<u32, Thrown> {
        self.get(at)
    }

    pub(crate) fn optional_id(&self, at: usize) -> Result<Option<u32>, Thrown> {
        self.get(at)
    }

    /// Returns a number of [`Host::number`].
    pub(crate) fn handle(&self, at: usize) -> Result<u64, Thrown> {
        self.get(at)
    }

    /// Returns a count or an index.
    pub(crate) fn size(&self, at: usize) -> Result<usize, Thrown> {
        self.get(at)
    }

    pub(crate) fn sizes(&self, at: usize) -> Result<Vec<usize>, Thrown> {
        self.get(at)
    }

    /// Returns a number of columns of the screen. Negative numbers and NaN are 0.
    pub(crate) fn columns(&self, at: usize) -> Result<usize, Thrown> {
        Ok(self.number(at)?.floor() as usize)
    }

    pub(crate) fn bytes(&self, at: usize) -> Result<Vec<u8>, Thrown> {
        Ok(self.get::<Bytes>(at)?.0)
    }

    pub(crate) fn optional_bytes(&self, at: usize) -> Result<Option<Vec<u8>>, Thrown> {
        Ok(self.get::<Option<Bytes>>(at)?.map(|bytes| bytes.0))
    }

    pub(crate) fn object(&self, at: usize) -> Result<Object<'js>, Thrown> {
        self.get(at)
    }

    /// Returns a value as `JSON.stringify` writes it.
    pub(crate) fn json(&self, at: usize) -> Result<serde_json::Value, Thrown> {
        Ok(self.get::<Json>(at)?.0)
    }

    /// Reads a typed value.
    pub(crate) fn parse<T: DeserializeOwned>(&self, at: usize) -> Result<T, Thrown> {
        Ok(serde_json::from_value(self.json(at)?)?)
    }

    /// Returns a value to JavaScript.
    pub(crate) fn reply(&self, value: impl Into<Plain>) -> Answer<'js> {
        Ok(value.into().into_js(self.ctx())?)
    }

    /// Returns `undefined`.
    pub(crate) fn done(&self) -> Answer<'js> {
        Ok(Value::new_undefined(self.ctx().clone()))
    }

    /// Returns a promise for a future that runs on the runtime of this thread.
    pub(crate) fn promise(
        &self,
        future: impl Future<Output = Outcome> + Send + 'static,
    ) -> Answer<'js> {
        self.promise_on(&Handle::current(), Box::pin(future))
    }

    /// Returns a promise for a future that runs on the runtime of the session.
    pub(crate) fn promise_on_main(
        &self,
        future: impl Future<Output = Outcome> + Send + 'static,
    ) -> Answer<'js> {
        self.promise_on(self.host.main(), Box::pin(future))
    }

    fn promise_on(&self, runtime: &Handle, future: BoxFuture<'static, Outcome>) -> Answer<'js> {
        Ok(self.host.promise_on(runtime, self.ctx(), future)?.into_value())
    }
}

/// What the engine calls for every native function.
struct Trampoline {
    host: Host,
    function: Box<dyn for<'a, 'js> Fn(&Call<'a, 'js>) -> Answer<'js>>,
}

/// Marks [`Trampoline`] as a function that reads its own arguments.
struct AnyArguments;

impl<'js> IntoJsFunc<'js, AnyArguments> for Trampoline {
    fn param_requirements() -> ParamRequirement {
        ParamRequirement::any()
    }

    fn call(&self, params: Params<'_, 'js>) -> rquickjs::Result<Value<'js>> {
        let call = Call { host: &self.host, params };
        (self.function)(&call).map_err(|error| match error {
            Thrown::Native(error) => error.throw(call.ctx()),
            Thrown::Engine(error) => error,
        })
    }
}

/// Makes a function of JavaScript.
pub(crate) fn function<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    function: impl for<'a, 'b> Fn(&Call<'a, 'b>) -> Answer<'b> + 'static,
) -> rquickjs::Result<Function<'js>> {
    boxed(ctx, Trampoline { host: host.clone(), function: Box::new(function) })
}

fn boxed<'js>(ctx: &Ctx<'js>, trampoline: Trampoline) -> rquickjs::Result<Function<'js>> {
    Function::new(ctx.clone(), trampoline)
}

/// Makes an object of native functions.
pub(crate) fn object<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    tables: &[Natives],
) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    for (name, native) in tables.iter().copied().flatten() {
        object.set(*name, function(ctx, host, *native)?)?;
    }
    Ok(object)
}
