/** Images, audio and files of a size that the walk chooses. */

const toText = (...codes: readonly number[]): string => String.fromCharCode(...codes);
const toBig = (value: number): string => toText(...[24, 16, 8, 0].map((shift) => (value >> shift) & 255));
const toLittle = (value: number): string => toText(...[0, 8, 16, 24].map((shift) => (value >> shift) & 255));

/** A PNG whose header has this size. */
export function createPng(width: number, height: number): string {
	return btoa(`\x89PNG\r\n\x1a\n${toBig(13)}IHDR${toBig(width)}${toBig(height)}\x08\x06\0\0\0${'\0'.repeat(12)}`);
}

/** A WAV file of this many seconds, with 8,000 bytes per second. */
export function createWav(seconds: number): string {
	const data = '\0'.repeat(seconds * 8_000);
	const head = `WAVEfmt ${toLittle(16)}\x01\0\x01\0${toLittle(8_000)}${toLittle(8_000)}\x01\0\x08\0data${toLittle(data.length)}`;
	return btoa(`RIFF${toLittle(head.length + data.length)}${head}${data}`);
}

/** A PDF of this many pages. */
export function createPdf(pages: number): string {
	return btoa(`%PDF-1.4\n${'1 0 obj << /Type /Page /Parent 2 0 R >> endobj\n'.repeat(pages)}%%EOF`);
}
