import type * as v from 'valibot';
import type { FlowReason } from '../../core/chat/flow.ts';
import type { Shown } from '../wire/operation.ts';
import type { decisionLinks, linkBody } from '../wire/token.ts';

export type LinkRequest = v.InferOutput<typeof linkBody>;

export type DecisionLinks = Shown<typeof decisionLinks>;

export interface LinkedCall {
	readonly approve: boolean;
	readonly for?: string;
	readonly agent: string;
	readonly title?: string;
	readonly tool: string;
	/** JSON. */
	readonly input: string;
	readonly flow?: FlowReason;
	readonly preview?: string;
}
