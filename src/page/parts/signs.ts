/**
 * Shows the exact text: writes codes for invisible characters and for characters that change the direction. Also writes codes
 * from the fifth mark of a letter on, because many marks cover other lines.
 */
export function showSigns(text: string): string {
	const hidden = /[^\P{C}\n\t]|[\p{DI}\p{Zl}\p{Zp}]|(?<=\p{M}{4})\p{M}/gu;
	return text.replace(hidden, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}
