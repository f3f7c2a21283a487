/**
 * Shows the exact text: writes codes for invisible characters, for characters that change the direction, and for so many marks
 * on a letter that they would be drawn over other lines.
 */
export function showSigns(text: string): string {
	const hidden = /[^\P{C}\n\t]|[\p{DI}\p{Zl}\p{Zp}]|(?<=\p{M}{4})\p{M}/gu;
	return text.replace(hidden, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
}
