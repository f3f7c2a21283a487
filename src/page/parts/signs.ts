/** Shows the exact text: writes codes for invisible characters, and for characters that change the direction. */
export function showSigns(text: string): string {
	const hidden = /[^\P{C}\n\t]|[\p{DI}\p{Zl}\p{Zp}]/gu;
	return text.replace(hidden, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}
