/** Applies the chosen theme. A script that blocks, so that no other theme is painted before. */

import { applyTheme, readTheme } from './parts/theme.ts';

applyTheme(readTheme());
// Another window of this browser has chosen.
addEventListener('storage', () => applyTheme(readTheme()));
