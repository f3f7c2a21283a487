import { anthropic } from './anthropic.ts';
import { chatCompletions } from './chat.ts';
import type { Dialect } from './dialect.ts';
import { gemini } from './gemini.ts';
import { openai, xai } from './responses.ts';
import { workersAi } from './workers-ai.ts';

/** The dialects of all adapters. */
export const dialects: readonly Dialect[] = [anthropic, openai, xai, chatCompletions, gemini, workersAi];
