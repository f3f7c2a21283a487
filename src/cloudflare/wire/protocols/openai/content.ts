import { type MessagePart, textPart } from '../../../../core/chat/index.ts';
import { type ClientPart, readDataUrl } from './schema.ts';

/** Converts a part of a client's message to Runlet's form. */
export function toPart(part: ClientPart): MessagePart {
	switch (part.type) {
		case 'text':
			return textPart(part.text);
		case 'image_url': {
			const { url, detail } = part.image_url;
			return { kind: 'image', ...(readDataUrl(url) ?? { url }), ...(detail != null && { meta: { detail } }) };
		}
		case 'input_audio': {
			const { data, format } = part.input_audio;
			return { kind: 'audio', mime: format === 'mp3' ? 'audio/mpeg' : 'audio/wav', data };
		}
		case 'file': {
			const { file_data, filename } = part.file;
			return { kind: 'file', ...readDataUrl(file_data), ...(filename != null && { name: filename }) };
		}
	}
}

type TextLike =
	| { readonly type: 'text'; readonly text: string }
	| { readonly type: 'refusal'; readonly refusal: string };

/** Joins a content that has only texts. */
export function toText(content: string | readonly TextLike[]): string {
	if (typeof content === 'string') return content;
	return content.map((part) => (part.type === 'text' ? part.text : part.refusal)).join('\n\n');
}
