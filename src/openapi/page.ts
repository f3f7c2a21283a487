import type { Document } from './document.ts';
export function page(document: Document, origin: string): string {
	return `${document.info.title} ${origin}`;
}
