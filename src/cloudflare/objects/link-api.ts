import type * as v from 'valibot';
import type { FlowReason } from '../../core/chat/flow.ts';
import type { Label } from '../../core/tool/index.ts';
import type { Shown } from '../wire/operation.ts';
import type { decisionLinks, linkBody } from '../wire/token.ts';
import type { Amount } from './budget.ts';

export type LinkRequest = v.InferOutput<typeof linkBody>;

export type DecisionLinks = Shown<typeof decisionLinks>;

export interface LinkedCall {
	readonly approve: boolean;
	readonly for?: string;
	readonly agent: string;
	readonly title?: string;
	readonly user?: string;
	/** When the call began to wait, and until when the link works. */
	readonly since: string;
	readonly expiresAt: string;
	/** What had flowed into the session, and its cost so far. */
	readonly labels: readonly Label[];
	readonly spent: Amount;
	readonly tool: string;
	/** JSON. */
	readonly input: string;
	readonly flow?: FlowReason;
	readonly preview?: string;
}
