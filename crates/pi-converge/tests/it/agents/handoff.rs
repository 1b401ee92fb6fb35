//! Handoffs.
