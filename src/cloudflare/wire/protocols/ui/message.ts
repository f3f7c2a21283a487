import type { UiChunk } from './chunk.ts';

export interface UiPart {
	readonly type: string;
	readonly [field: string]: unknown;
}

export interface UiMessage {
	readonly id: string;
	readonly role: 'user' | 'assistant';
	readonly metadata?: object;
	readonly parts: readonly UiPart[];
}

/** Returns the message that a client makes from the chunks, without restarted turns. Undefined if it is empty. */
export function toUiMessage(chunks: readonly UiChunk[]): UiMessage | undefined {
	let id = '';
	let metadata: object | undefined;
	let parts: UiPart[] = [];
	const texts = new Map<string, string[]>();
	for (const chunk of chunks) {
		switch (chunk.type) {
			case 'start':
				id = chunk.messageId ?? id;
				metadata = { ...metadata, ...chunk.messageMetadata };
				break;
			case 'message-metadata':
			case 'finish':
				metadata = { ...metadata, ...chunk.messageMetadata };
				break;
			case 'start-step':
				parts.push({ type: 'step-start' });
				break;
			case 'text-start':
			case 'reasoning-start': {
				const pieces: string[] = [];
				texts.set(chunk.id, pieces);
				parts.push({ type: chunk.type === 'text-start' ? 'text' : 'reasoning', pieces });
				break;
			}
			case 'text-delta':
			case 'reasoning-delta':
				texts.get(chunk.id)?.push(chunk.delta);
				break;
			case 'file':
			case 'source-url':
			case 'source-document':
				parts.push(chunk);
				break;
			case 'data-restarted':
				parts = withoutLastStep(parts);
				break;
			case 'data-note':
			case 'data-warning':
				if (chunk.transient !== true) parts.push({ type: chunk.type, data: chunk.data });
				break;
			case 'data-tasks':
				showTasks(parts, chunk);
				break;
			default:
				applyToCall(parts, chunk);
		}
	}
	const shown = parts.map(({ pieces, ...part }) =>
		Array.isArray(pieces) ? { ...part, text: pieces.join(''), state: 'done' } : part,
	);
	if (!shown.some(({ type }) => type !== 'step-start')) return undefined;
	return { id, role: 'assistant', metadata, parts: shown };
}

/** Shows a task list, always at the place where it was first shown. */
function showTasks(parts: UiPart[], chunk: Extract<UiChunk, { type: 'data-tasks' }>): void {
	const at = parts.findIndex(({ type, id }) => type === chunk.type && id === chunk.id);
	if (at === -1) parts.push(chunk);
	else parts[at] = chunk;
}

function withoutLastStep(parts: readonly UiPart[]): UiPart[] {
	const at = parts.findLastIndex(({ type }) => type === 'step-start');
	return parts.slice(0, Math.max(0, at));
}

function applyToCall(parts: UiPart[], chunk: UiChunk): void {
	switch (chunk.type) {
		case 'tool-input-start':
			parts.push({
				type: `tool-${chunk.toolName}`,
				toolCallId: chunk.toolCallId,
				state: 'input-streaming',
				...(chunk.providerExecuted && { providerExecuted: true }),
			});
			break;
		case 'tool-input-available':
			changeCall(parts, chunk, { state: 'input-available', input: chunk.input }, false);
			break;
		case 'tool-input-error':
			changeCall(parts, chunk, { state: 'output-error', input: chunk.input, errorText: chunk.errorText }, false);
			break;
		case 'tool-output-available':
			changeCall(parts, chunk, { state: 'output-available', output: chunk.output, errorText: undefined }, true);
			break;
		case 'tool-output-error':
			changeCall(parts, chunk, { state: 'output-error', output: undefined, errorText: chunk.errorText }, true);
			break;
		case 'tool-output-denied':
			changeCall(parts, chunk, { state: 'output-denied' }, false);
			break;
		case 'tool-approval-request': {
			const at = findCall(parts, chunk.toolCallId);
			const part = parts[at];
			if (part !== undefined) parts[at] = { ...part, state: 'approval-requested', approval: { id: chunk.approvalId } };
			break;
		}
	}
}

function changeCall(
	parts: UiPart[],
	{ toolCallId }: { readonly toolCallId: string },
	change: object,
	approved: boolean,
): void {
	const at = findCall(parts, toolCallId);
	const part = parts[at];
	if (part === undefined) return;
	const approval = part.approval === undefined ? {} : { approval: { ...toRecord(part.approval), approved } };
	parts[at] = { ...part, ...change, ...approval };
}

function findCall(parts: readonly UiPart[], toolCallId: string): number {
	return parts.findLastIndex((part) => part.type.startsWith('tool-') && part.toolCallId === toolCallId);
}

/** Marks the approved calls that did not run yet, so that the page does not ask for their approval again. */
export function withAllowed({ parts, ...message }: UiMessage, allowed: readonly string[]): UiMessage {
	const shown = parts.map((part) =>
		part.state === 'approval-requested' && allowed.some((id) => id === part.toolCallId)
			? { ...part, state: 'approval-responded', approval: { ...toRecord(part.approval), approved: true } }
			: part,
	);
	return { ...message, parts: shown };
}

function toRecord(value: unknown): object {
	return typeof value === 'object' && value !== null ? value : {};
}
