import type { RunEvent } from '../../core/chat/index.ts';
import type { ChildEvent } from './event.ts';

export interface Reader {
	/** An admin of the owner, or the person of the local mode (docs/keys.md, "Roles"). */
	readonly isOperator: boolean;
	/** The id in the log: the id of the run, otherwise of the request. */
	readonly id: string | undefined;
}

interface Shown {
	readonly code: string;
	readonly message: string;
	readonly data?: Readonly<Record<string, unknown>>;
}

const setupCodes: ReadonlySet<string> = new Set(['not_configured', 'unknown_model', 'invalid_agent']);

/** Model failures that the reader can remedy, with the code and the message for the reader. */
const remedies: Readonly<Record<string, readonly [code: string, message: string]>> = {
	context_overflow: ['context_overflow', 'The conversation is too long for the model. Send less, or begin a new one.'],
	content_filtered: ['content_filtered', 'The model refuses this content. Change the message.'],
	rate_limited: ['overloaded', 'The model has too much to do at the moment. Send the message again later.'],
	overloaded: ['overloaded', 'The model has too much to do at the moment. Send the message again later.'],
	timeout: ['timeout', 'The model did not answer in time. Send the message again.'],
	network: ['network', 'The model could not be reached. Send the message again.'],
	interrupted: ['interrupted', 'The answer of the model broke off. Send the message again.'],
	reply_too_large: ['reply_too_large', 'The answer of the model was too long. Ask for a shorter one.'],
};

/**
 * Returns an error in the form that its reader may see. Only operators see setup errors and a provider's own texts.
 * Other readers get a neutral text and the id of the log entry.
 */
export function showError<E extends Shown>(error: E, { isOperator, id }: Reader): E | Shown {
	if (isOperator || !isOfOperator(error)) return error;
	const { code: own, data } = error;
	const remedy = data?.insufficientQuota === true ? undefined : remedies[own];
	const known = id === undefined ? 'the time of this answer' : `the id ${id}`;
	const [code, message] =
		remedy ??
		(setupCodes.has(own)
			? ['not_configured', `Something is missing in the setup of this service. Tell its operator ${known}.`]
			: ['provider_error', `The model of this service cannot be used now. Tell its operator ${known}.`]);
	const { retryAfter } = data ?? {};
	return {
		code,
		message,
		data: { ...(id !== undefined && { requestId: id }), ...(typeof retryAfter === 'number' && { retryAfter }) },
	};
}

export function showEvent(event: RunEvent, reader: Reader): RunEvent {
	if (reader.isOperator) return event;
	if (event.type === 'warning') {
		const message = neutralWarnings.get(event.code);
		return message === undefined ? event : { type: 'warning', code: event.code, message };
	}
	if (event.type !== 'error' || !isOfOperator(event)) return event;
	const { code, message, data } = showError({ code: event.code, message: event.message, data: event.data }, reader);
	return { type: 'error', code, message, data };
}

/** Returns an event of a child in the form that a reader of its parent may see. */
export function showChildEvent({ event, ...child }: ChildEvent, reader: Reader): ChildEvent {
	return { ...child, event: event.type === 'child' ? showChildEvent(event, reader) : showEvent(event, reader) };
}

/** The texts for readers who are not operators. */
const neutralWarnings: ReadonlyMap<string, string> = new Map([
	['fallback_not_ready', 'A model that would have been asked next is not ready.'],
	['mcp_unreachable', 'Tools of a server are missing in this turn.'],
	['not_recalled', 'Nothing was recalled for this turn.'],
]);

function isOfOperator({ code, data }: Pick<Shown, 'code' | 'data'>): boolean {
	return setupCodes.has(code) || (code !== 'cancelled' && (data?.provider !== undefined || data?.model !== undefined));
}
