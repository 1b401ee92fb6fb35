//! The fullscreen mode.
