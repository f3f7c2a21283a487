/** The theme that a person has chosen in this browser. */

export const themes = ['light', 'dark', 'system'] as const;
export type Theme = (typeof themes)[number];

const themeName = 'runlet-theme';

/** Returns `system` where the browser keeps nothing for pages. */
export function readTheme(): Theme {
	try {
		const kept = localStorage.getItem(themeName);
		return themes.find((theme) => theme === kept) ?? 'system';
	} catch {
		return 'system';
	}
}

export function keepTheme(theme: Theme): void {
	try {
		localStorage.setItem(themeName, theme);
	} catch {
		// Then the theme holds until the page is closed.
	}
	applyTheme(theme);
}

export function applyTheme(theme: Theme): void {
	const { dataset } = document.documentElement;
	if (theme === 'system') delete dataset.theme;
	else dataset.theme = theme;
}
