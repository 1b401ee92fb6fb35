// `@earendil-works/pi-ai/oauth`: pi 1.5.0 exports types only.
