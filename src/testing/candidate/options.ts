import type { Agent } from '../../cloudflare/agent/define.ts';
import type { ProviderRegistration } from '../../core/index.ts';
import type { ReplayOptions, ToolAnswers } from '../../replay/session.ts';

/** A model, an agent or both, in place of the recorded ones. */
export interface Candidate {
	/** The model. The default is the model of `agent`, else the recorded model. */
	readonly model?: string;
	/** The agent. The default is the recorded agent as it is now. */
	readonly agent?: Agent;
}

/** The options of a comparison of candidates (docs/testing.md, "Try another model"). */
export interface CandidateOptions extends Pick<ReplayOptions, 'agents' | 'env' | 'skills'> {
	readonly candidates: readonly Candidate[];
	/** The providers of the models. `readProviders(process.env)` makes those of a Worker. */
	readonly providers: readonly ProviderRegistration[];
	/** How many times each candidate runs. The default is 1. */
	readonly runs?: number;
	/**
	 * The tools with answers of their own. A function answers each call of its tool. `live` runs a tool that declares
	 * `readOnly`, where the recording has no answer.
	 */
	readonly tools?: Readonly<Record<string, ToolAnswers>>;
	/** With `live`, each tool that declares `readOnly` runs where the recording has no answer. */
	readonly reads?: 'recorded' | 'live';
	/** With `live`, the recorded model also runs, with today's agent. Its recorded replies are replayed in any case. */
	readonly baseline?: 'recorded' | 'live';
}
