// Starts first: it starts many processes.
import { testScenarios } from './site-scenarios.ts'

testScenarios('in-process')
