//! Parts of the program that a build may leave out.
//!
//! The command line is the same in every build. A command or a mode of a missing part says so.

/// Evaluates an expression of type `Result` if a feature is part of this build. Otherwise the value
/// is an error that says so.
macro_rules! with_feature {
    ($name:literal, $run:expr) => {{
        #[cfg(feature = $name)]
        {
            $run
        }
        #[cfg(not(feature = $name))]
        {
            Err($crate::features::missing($name).into())
        }
    }};
}

pub(crate) use with_feature;

/// Returns the failure of a part that this build does not have.
#[cfg(not(feature = "default"))]
pub(crate) fn missing(feature: &str) -> crate::exit::Failure {
    let message = format!("`{feature}` is not part of this build of pi");
    let hint = format!("build pi with `--features {feature}`, or install the full program");
    crate::exit::Failure::new(message, crate::exit::Exit::Unavailable).with_hint(hint)
}
