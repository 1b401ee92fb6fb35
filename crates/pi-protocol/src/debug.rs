//! `Debug` for types with parts that cannot be shown, such as functions.

/// Implements `Debug` for a type: its name and the fields that are named, of more.
///
/// ```
/// struct Timer {
///     name: String,
///     call: Box<dyn Fn()>,
/// }
/// pi_protocol::debug_fields!(Timer, name);
///
/// let timer = Timer { name: "tick".to_owned(), call: Box::new(|| {}) };
/// assert_eq!(format!("{timer:?}"), r#"Timer { name: "tick", .. }"#);
/// # (timer.call)();
/// ```
#[macro_export]
macro_rules! debug_fields {
    ($name:ident $(<$life:lifetime>)? $(, $field:ident)*) => {
        impl ::std::fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    };
}
