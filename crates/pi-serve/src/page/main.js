// Part of the page.
