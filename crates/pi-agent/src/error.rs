//! Errors of tools, hooks and runs: a message, and the error that caused it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Defines an error type that consists of a message and an optional source. Two errors are equal
/// if their messages are.
macro_rules! message_error {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        #[derive(Clone)]
        pub struct $name {
            message: String,
            source: Option<Arc<dyn Error + Send + Sync>>,
        }

        impl $name {
            /// Creates an error with a message.
            pub fn new(message: impl Into<String>) -> Self {
                Self { message: message.into(), source: None }
            }

            /// Creates an error with a message and the error that caused it. The message has to
            /// be complete: the source is not displayed.
            pub fn with_source(
                message: impl Into<String>,
                source: impl Into<Box<dyn Error + Send + Sync>>,
            ) -> Self {
                Self { message: message.into(), source: Some(Arc::from(source.into())) }
            }

            /// Returns the message.
            pub fn message(&self) -> &str {
                &self.message
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.message)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut tuple = f.debug_tuple(stringify!($name));
                tuple.field(&self.message);
                if let Some(source) = &self.source {
                    tuple.field(source);
                }
                tuple.finish()
            }
        }

        impl Error for $name {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                match &self.source {
                    Some(source) => Some(&**source),
                    None => None,
                }
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.message == other.message
            }
        }

        impl Eq for $name {}
    };
}

message_error! {
    /// The failure of a tool. The model reads the message.
    ToolError
}

message_error! {
    /// The failure of a hook. Around a tool call, the model reads the message as its result.
    HookError
}

message_error! {
    /// The failure of a listener, or of a hook that is not about a tool call. It ends the run.
    RunError
}

impl From<HookError> for RunError {
    fn from(HookError { message, source }: HookError) -> Self {
        Self { message, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_source_and_are_equal_by_message() {
        let cause = std::io::Error::other("disk full");
        let error = ToolError::with_source("Cannot write the file", cause);
        assert_eq!(error.to_string(), "Cannot write the file");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("disk full"));
        assert_eq!(error, ToolError::new("Cannot write the file"));
        assert!(ToolError::new("other").source().is_none());

        let hook = HookError::with_source("no key", std::io::Error::other("vault closed"));
        let run = RunError::from(hook);
        assert_eq!(run.message(), "no key");
        assert!(run.source().is_some());
    }
}
