//! Calls that the engine offers without a safe interface; the only file with `unsafe`.
//!
//! Source text becomes bytecode and bytecode a function: the safe interface compiles modules only,
//! and modules are never freed, so that each reload would leak one per file. A function is freed
//! like any value.

#![allow(unsafe_code)]

use std::ffi::CString;

use rquickjs::{ArrayBuffer, Ctx, Error, Function, Result, Value, qjs};

/// Compiles a source text whose value is a function, and returns its bytecode.
pub(crate) fn compile(ctx: &Ctx<'_>, name: &str, source: &str) -> Result<Vec<u8>> {
    let (name, text) = (CString::new(name)?, CString::new(source)?);
    let flags =
        qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_STRICT | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the context is locked by the caller, and both strings outlive the call.
    let compiled =
        unsafe { qjs::JS_Eval(raw, text.as_ptr(), source.len() as _, name.as_ptr(), flags as i32) };
    // SAFETY: the engine returned an owned value of this context.
    let compiled = unsafe { Value::from_raw(ctx.clone(), compiled) };
    if compiled.is_exception() {
        return Err(Error::Exception);
    }
    let mut length = 0;
    let flags = qjs::JS_WRITE_OBJ_BYTECODE | qjs::JS_WRITE_OBJ_STRIP_SOURCE;
    // SAFETY: the value is alive; the engine allocates the buffer and sets its length.
    let buffer =
        unsafe { qjs::JS_WriteObject(raw, &raw mut length, compiled.as_raw(), flags as i32) };
    if buffer.is_null() {
        return Err(Error::Exception);
    }
    // SAFETY: the buffer has this length and is not changed meanwhile.
    let bytes = unsafe { std::slice::from_raw_parts(buffer, length as usize) }.to_vec();
    // SAFETY: the buffer came from the engine's allocator and is not used again.
    unsafe { qjs::js_free(raw, buffer.cast()) };
    Ok(bytes)
}

/// Returns the function of a bytecode that [`compile`] made.
///
/// The bytes must come from [`compile`] of the same version of the engine: the engine does not check
/// them. The caller keeps that promise by a checksum and a version (see `source::cache`).
pub(crate) fn load<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<Function<'js>> {
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the bytes are as written by `JS_WriteObject`; the engine copies what it keeps.
    let object = unsafe {
        qjs::JS_ReadObject(raw, bytes.as_ptr(), bytes.len() as _, qjs::JS_READ_OBJ_BYTECODE as i32)
    };
    // SAFETY: the engine returned an owned value; an exception owns nothing.
    if unsafe { qjs::JS_IsException(object) } {
        return Err(Error::Exception);
    }
    // SAFETY: the object is compiled code; the call takes over its ownership.
    let value = unsafe { qjs::JS_EvalFunction(raw, object) };
    // SAFETY: the engine returned an owned value of this context.
    let value = unsafe { Value::from_raw(ctx.clone(), value) };
    if value.is_exception() {
        return Err(Error::Exception);
    }
    value.into_function().ok_or(Error::Unknown)
}

/// The context of a thread, for the interrupt handler, which the engine calls without one.
#[derive(Clone, Copy)]
pub(crate) struct RunningContext(std::ptr::NonNull<qjs::JSContext>);

// SAFETY: the pointer is only used in the interrupt handler, which the engine calls on the thread
// of the runtime while the context is alive and locked.
unsafe impl Send for RunningContext {}

impl RunningContext {
    pub(crate) fn of(ctx: &Ctx<'_>) -> Self {
        Self(ctx.as_raw())
    }

    /// Returns the files of the running functions, innermost first.
    ///
    /// Must be called from the interrupt handler only.
    pub(crate) fn running_files(self) -> Vec<String> {
        // SAFETY: see the type; the handler runs inside a call into this context.
        let ctx = unsafe { Ctx::from_raw(self.0) };
        // Native functions have no file.
        let names = (0..64).filter_map(|level| ctx.script_or_module_name(level));
        names.filter_map(|name| name.to_string().ok()).collect()
    }
}

/// Returns a copy of a part of a buffer; `None` if it is detached or shorter.
pub(crate) fn copy_bytes(
    buffer: &ArrayBuffer<'_>,
    offset: usize,
    length: usize,
) -> Option<Vec<u8>> {
    // SAFETY: the bytes are copied before any JavaScript can run and change or detach the buffer.
    let bytes = unsafe { buffer.as_bytes() }?;
    bytes.get(offset..offset.checked_add(length)?).map(<[u8]>::to_vec)
}

/// Returns the bytes that the values of the runtime use. Walks over all of them.
pub(crate) fn memory_used(ctx: &Ctx<'_>) -> i64 {
    let mut usage = std::mem::MaybeUninit::<qjs::JSMemoryUsage>::zeroed();
    // SAFETY: the context is locked by the caller, and its runtime lives as long.
    let runtime = unsafe { qjs::JS_GetRuntime(ctx.as_raw().as_ptr()) };
    // SAFETY: the engine fills the whole structure, which was allocated for it.
    unsafe { qjs::JS_ComputeMemoryUsage(runtime, usage.as_mut_ptr()) };
    // SAFETY: the structure consists of numbers, for which zero is valid.
    unsafe { usage.assume_init() }.malloc_size
}
