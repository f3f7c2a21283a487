import type { Message } from '../../../core/chat/index.ts';
import { fromBase64 } from '../../../core/ground/bytes.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import { toSafeName } from '../../../core/workspace/path.ts';
import type { Quota } from '../../../core/workspace/quota.ts';
import type { Attachment } from '../../wire/attachment.ts';
import { type Inbound, readAttachments } from '../store/inbound.ts';
import type { SessionStore } from '../store/store.ts';

/** Names that are tried for an attachment. */
const mostNames = 1_000;

/**
 * Puts the attachments of a message into the workspace, under `attachments/`, in the transaction that stores the message.
 * None replaces a file; one that is there already, byte for byte, is not put there again. What does not fit into the
 * workspace is in the message alone.
 */
export function keepAttachments(
	store: SessionStore,
	quota: Quota,
	message: Message,
	inbound: Inbound | undefined,
): void {
	const parts = 'parts' in message ? message.parts : undefined;
	for (const attachment of readAttachments(parts, inbound?.attachments)) {
		const content = readContent(attachment);
		if (content === undefined) continue;
		const path = findFreePath(store, toSafeName(attachment.name), content);
		if (path === undefined) continue;
		try {
			store.workspace.change([{ type: 'write', path, content }], { quota });
		} catch (error) {
			// The message is accepted all the same.
			if (!(error instanceof RunletError) || !['too_large', 'invalid_argument'].includes(error.code)) throw error;
		}
	}
}

/** The bytes of an attachment; nothing where the message has only its URL. */
function readContent({ contentText, contentBase64 }: Attachment): Uint8Array | undefined {
	if (contentText !== undefined) return new TextEncoder().encode(contentText);
	return contentBase64 === undefined ? undefined : fromBase64(contentBase64);
}

/** A path where nothing is; nothing where the same file is there already. */
function findFreePath({ workspace }: SessionStore, name: string, content: Uint8Array): string | undefined {
	const dot = name.lastIndexOf('.');
	const [base, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
	for (let n = 1; n <= mostNames; n++) {
		const path = `attachments/${n === 1 ? name : `${base}-${n}${extension}`}`;
		const found = workspace.files.find(path);
		if (found === undefined) return path;
		if (found === 'folder' || found.size !== content.length || found.content.key !== undefined) continue;
		const bytes = workspace.contents.read(found.content.id, 0, found.size);
		if (bytes.every((byte, at) => byte === content[at])) return undefined;
	}
	return undefined;
}
